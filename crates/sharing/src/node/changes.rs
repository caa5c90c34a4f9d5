//! Changing names and attributes, in folders that are held for it.

use std::time::Duration;

use forebay_book::{
    Claim, EntryName, Epoch, ErrorKind, FileBytes, FileKind, FileRecord, FolderId, InodeNumber,
};
use parking_lot::MutexGuard;
use rustix::io::Errno;

use super::names::{AttributeChange, NewFile, RenameRule, Seen};
use super::state::{Body, File, HeldFolder, State};
use super::{NAP, SharedNode, said_by_book};
use crate::Result;

/// Numbers that are lent at a time.
const NUMBERS: u32 = 2000;
/// How often a request begins anew, because what it names is something else by now.
const TRIES: u32 = 20;
/// Programs may have attributes of these kinds, of so many bytes for all of a file.
const USERS: &[u8] = b"user.";
const ATTRIBUTES_MOST: usize = 64 << 10;

impl SharedNode {
    /// Makes a file or folder.
    ///
    /// # Errors
    /// EEXIST. ESTALE: the folder is gone. ETIMEDOUT, EIO: it is not to be had.
    pub fn create(&self, folder: FolderId, name: &EntryName, new: &NewFile) -> Result<Seen> {
        let _pins = self.pin(&[folder])?;
        let number = self.next_number()?;
        let now = self.time.unix_nanos();
        let mut state = self.state.lock();
        if state.held(folder)?.names.contains_key(name) {
            return Err(Errno::EXIST);
        }
        let parent = state.files.get(&folder.inode()).ok_or(Errno::STALE)?;
        let (group, above) = (parent.record.gid, parent.record.mode);
        let inherits = above & 0o2000 != 0;
        let is_folder = new.kind == FileKind::Folder;
        let keeps_group = if inherits && is_folder { 0o2000 } else { 0 };
        let record = FileRecord {
            inode: number,
            kind: new.kind,
            mode: (new.mode & 0o7777) | keeps_group,
            uid: new.uid,
            gid: if inherits { group } else { new.gid },
            mtime_ns: now,
            size: 0,
            rdev: new.rdev,
            bytes: FileBytes::None,
            attributes: Vec::new(),
        };
        let mut file = File::from_record(record, Some((folder, name.clone())));
        match new.kind {
            FileKind::Regular => file.body = Body::Memory(Vec::new()),
            FileKind::Symlink => {
                file.record.size = new.target.len() as u64;
                file.record.bytes = FileBytes::InBook(new.target.clone());
            }
            FileKind::Folder => {
                state.folders.insert(FolderId(number.0), HeldFolder::new(Claim::Made));
            }
            _ => {}
        }
        file.kernel = 1;
        state.files.insert(number, file);
        state.set_name(folder, name, Some(number));
        state.note_file_change(number);
        state.touch_folder(folder, now);
        let seen = self.seen(&state, number, self.trust_now(&state, folder));
        drop(state);
        self.dirtied.notify_one();
        seen
    }

    fn next_number(&self) -> Result<InodeNumber> {
        let deadline = self.deadline(self.patience());
        loop {
            let mut state = self.state.lock();
            if state.numbers.next < state.numbers.end {
                state.numbers.next += 1;
                return Ok(InodeNumber(state.numbers.next - 1));
            }
            let member = state.member;
            drop(state);
            match self.book.lend_inodes(&member, NUMBERS) {
                Ok(lent) => {
                    let mut state = self.state.lock();
                    if state.numbers.next >= state.numbers.end {
                        state.numbers.next = lent.first.0;
                        state.numbers.end = lent.first.0 + i64::from(lent.count);
                    }
                }
                Err(error) if matches!(error.kind, ErrorKind::LeaseExpired | ErrorKind::Fenced) => {
                    self.rejoin(member)?;
                }
                Err(error) if !error.is_passing() => return Err(self.refused(&error)),
                Err(error) if self.is_over(deadline) => {
                    return Err(self.give_up_waiting(&said_by_book(&error)));
                }
                Err(_) => self.time.wait(10 * NAP),
            }
        }
    }

    /// Removes a name of what is no folder.
    ///
    /// # Errors
    /// ENOENT, EISDIR, and those of [`SharedNode::create`].
    pub fn unlink(&self, folder: FolderId, name: &EntryName) -> Result<()> {
        let _pins = self.pin(&[folder])?;
        let now = self.time.unix_nanos();
        let mut state = self.state.lock();
        let number = state.held(folder)?.names.get(name).copied().ok_or(Errno::NOENT)?;
        if state.files.get(&number).is_some_and(File::is_folder) {
            return Err(Errno::ISDIR);
        }
        state.remove_file_name(number, folder, name, now);
        state.touch_folder(folder, now);
        drop(state);
        self.dirtied.notify_one();
        Ok(())
    }

    /// Removes a folder without names.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENOTEMPTY, and those of [`SharedNode::create`].
    pub fn rmdir(&self, folder: FolderId, name: &EntryName) -> Result<()> {
        for _ in 0..TRIES {
            let number = {
                let _pins = self.pin(&[folder])?;
                let state = self.state.lock();
                let number = state.held(folder)?.names.get(name).copied().ok_or(Errno::NOENT)?;
                if !state.files.get(&number).is_some_and(File::is_folder) {
                    return Err(Errno::NOTDIR);
                }
                number
            };
            let inner = FolderId(number.0);
            let _pins = self.pin(&[folder, inner])?;
            let now = self.time.unix_nanos();
            let mut state = self.state.lock();
            if state.held(folder)?.names.get(name) != Some(&number) {
                continue;
            }
            if !state.held(inner)?.names.is_empty() {
                return Err(Errno::NOTEMPTY);
            }
            state.remove_folder(inner, folder, name);
            state.touch_folder(folder, now);
            drop(state);
            self.dirtied.notify_one();
            return Ok(());
        }
        Err(Errno::AGAIN)
    }

    /// Gives a file another name, perhaps in another folder.
    ///
    /// # Errors
    /// ENOENT, EEXIST, EISDIR, ENOTDIR, ENOTEMPTY. EXDEV: it has several names, and would have them
    /// in two folders. Those of [`SharedNode::create`].
    pub fn rename(
        &self,
        (from, old): (FolderId, &EntryName),
        (to, new): (FolderId, &EntryName),
        rule: RenameRule,
    ) -> Result<()> {
        let mut wanted = vec![from, to];
        for _ in 0..TRIES {
            let pins = self.pin(&wanted)?;
            let now = self.time.unix_nanos();
            let mut state = self.state.lock();
            let moved = state.held(from)?.names.get(old).copied().ok_or(Errno::NOENT)?;
            let replaced = state.held(to)?.names.get(new).copied();
            let is_folder = |number| state.files.get(&number).is_some_and(File::is_folder);
            if replaced == Some(moved) {
                return Ok(());
            }
            if let Some(replaced) = replaced {
                if rule == RenameRule::KeepTarget {
                    return Err(Errno::EXIST);
                }
                match (is_folder(moved), is_folder(replaced)) {
                    (true, false) => return Err(Errno::NOTDIR),
                    (false, true) => return Err(Errno::ISDIR),
                    (true, true) if !wanted.contains(&FolderId(replaced.0)) => {
                        wanted = vec![from, to, FolderId(replaced.0)];
                        drop(state);
                        drop(pins);
                        continue;
                    }
                    (true, true) if !state.held(FolderId(replaced.0))?.names.is_empty() => {
                        return Err(Errno::NOTEMPTY);
                    }
                    _ => {}
                }
            }
            let links = state.files.get(&moved).map_or(1, |file| file.links);
            if from != to && !is_folder(moved) && links > 1 {
                return Err(Errno::XDEV);
            }
            match replaced {
                Some(number) if is_folder(number) => {
                    state.remove_folder(FolderId(number.0), to, new);
                }
                Some(number) => {
                    state.remove_file_name(number, to, new, now);
                }
                None => {}
            }
            state.set_name(from, old, None);
            state.set_name(to, new, Some(moved));
            if let Some(file) = state.files.get_mut(&moved) {
                file.home = Some((to, new.clone()));
                if !file.is_folder() {
                    file.note_changed(now, None, None);
                    state.note_file_change(moved);
                }
            }
            state.touch_folder(from, now);
            state.touch_folder(to, now);
            drop(state);
            self.dirtied.notify_one();
            return Ok(());
        }
        Err(Errno::AGAIN)
    }

    /// Gives a file one more name in its folder.
    ///
    /// # Errors
    /// EXDEV: the name would be in another folder. EPERM: it is a folder. EEXIST, ESTALE. Those of
    /// [`SharedNode::create`].
    pub fn link(&self, number: InodeNumber, folder: FolderId, name: &EntryName) -> Result<Seen> {
        let _pins = self.pin(&[folder])?;
        let now = self.time.unix_nanos();
        let mut state = self.state.lock();
        let file = state.files.get(&number).ok_or(Errno::STALE)?;
        if file.is_folder() {
            return Err(Errno::PERM);
        }
        if file.home.as_ref().is_none_or(|(home, _)| *home != folder) {
            return Err(Errno::XDEV);
        }
        state.confirm_home(number)?;
        if state.held(folder)?.names.contains_key(name) {
            return Err(Errno::EXIST);
        }
        state.set_name(folder, name, Some(number));
        if let Some(file) = state.files.get_mut(&number) {
            file.links += 1;
            file.kernel += 1;
            file.note_changed(now, None, None);
        }
        state.note_file_change(number);
        state.touch_folder(folder, now);
        let seen = self.seen(&state, number, Duration::ZERO);
        drop(state);
        self.dirtied.notify_one();
        seen
    }

    /// Changes attributes.
    ///
    /// # Errors
    /// ESTALE: it is not known. EINVAL: a length for what is no file. Those of
    /// [`SharedNode::create`], and of the disk.
    pub fn set_attributes(&self, number: InodeNumber, change: AttributeChange) -> Result<Seen> {
        let _pins = match change.size {
            Some(_) => self.pin_to_write(number)?,
            None => self.pin_file(number)?,
        };
        if let Some(size) = change.size {
            if self.state.lock().files.get(&number).is_some_and(File::has_lost_locks) {
                return Err(Errno::IO);
            }
            self.truncate(number, size)?;
        }
        let now = self.time.unix_nanos();
        let mut state = self.state.lock();
        let settled = state.settled;
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        if change.size.is_some() {
            file.unsettled = settled;
        }
        let record = &mut file.record;
        record.mode = change.mode.map_or(record.mode, |mode| mode & 0o7777);
        record.uid = change.uid.unwrap_or(record.uid);
        record.gid = change.gid.unwrap_or(record.gid);
        if change.size.is_some() {
            file.note_modified(now);
        }
        file.note_changed(now, change.atime_ns, change.mtime_ns);
        if file.links > 0 && !file.away {
            state.note_file_change(number);
        }
        let seen = self.seen(&state, number, Duration::ZERO);
        drop(state);
        self.dirtied.notify_one();
        seen
    }

    /// Extended attributes of a file, without those of Forebay.
    ///
    /// # Errors
    /// As [`SharedNode::attributes`].
    pub fn extended(&self, number: InodeNumber) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.attributes(number)?;
        let state = self.state.lock();
        let file = state.files.get(&number).ok_or(Errno::STALE)?;
        let all = file.record.attributes.iter().filter(|(name, _)| name.starts_with(USERS));
        Ok(all.cloned().collect())
    }

    /// Sets (`Some`) or removes an extended attribute. `must_be`: it has to be there, or must not.
    ///
    /// # Errors
    /// EOPNOTSUPP: its name does not begin with `user.`. EEXIST, ENODATA. ENOSPC: too many bytes.
    /// Those of [`SharedNode::create`].
    pub fn set_extended(
        &self,
        number: InodeNumber,
        name: &[u8],
        value: Option<&[u8]>,
        must_be: Option<bool>,
    ) -> Result<()> {
        if !name.starts_with(USERS) {
            return Err(Errno::OPNOTSUPP);
        }
        let _pins = self.pin_file(number)?;
        let now = self.time.unix_nanos();
        let mut state = self.state.lock();
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        let all = &mut file.record.attributes;
        let at = all.iter().position(|(known, _)| known == name);
        match (at, must_be) {
            (Some(_), Some(false)) => return Err(Errno::EXIST),
            (None, Some(true)) => return Err(Errno::NODATA),
            _ => {}
        }
        let taken: usize = all.iter().map(|(name, value)| name.len() + value.len()).sum();
        if value.is_some_and(|value| taken + name.len() + value.len() > ATTRIBUTES_MOST) {
            return Err(Errno::NOSPC);
        }
        if let Some(at) = at {
            all.remove(at);
        }
        if let Some(value) = value {
            all.push((name.to_vec(), value.to_vec()));
        }
        file.note_changed(now, None, None);
        state.note_file_change(number);
        drop(state);
        self.dirtied.notify_one();
        Ok(())
    }

    /// Holds the folder to which a file's attributes belong: its own, or the one with its name.
    /// Nothing is held for a file without a name.
    pub(super) fn pin_file(&self, number: InodeNumber) -> Result<Option<super::holds::Pins<'_>>> {
        for _ in 0..TRIES {
            let (folder, is_folder) = {
                let state = self.state.lock();
                let file = state.files.get(&number).ok_or(Errno::STALE)?;
                match (&file.home, file.is_folder()) {
                    (_, true) => (FolderId(number.0), true),
                    _ if file.links == 0 => return Ok(None),
                    (Some((home, _)), false) => (*home, false),
                    (None, false) => return Err(Errno::STALE),
                }
            };
            let pins = self.pin(&[folder])?;
            let mut state: MutexGuard<'_, State> = self.state.lock();
            let home = state.files.get(&number).and_then(|file| file.home.as_ref());
            if !is_folder && home.is_none_or(|(home, _)| *home != folder) {
                continue; // It was moved in between.
            }
            let is_there = is_folder || state.confirm_home(number).is_ok();
            drop(state);
            if is_there {
                return Ok(Some(pins));
            }
            drop(pins);
            self.follow(number)?;
        }
        Err(Errno::AGAIN)
    }

    /// A file is not in the folder any more in which it was seen, and which was held just now: so the
    /// book knows where another node has moved it, or that it has no name any more.
    fn follow(&self, number: InodeNumber) -> Result<()> {
        let folders = self.ask_book(|| self.book.folders_with(self.volume, number))?;
        let mut state = self.state.lock();
        let file = state.files.get_mut(&number).ok_or(Errno::STALE)?;
        match (folders.first(), &mut file.home) {
            // Its name there is found when that folder is held.
            (Some(folder), Some((home, _))) => *home = *folder,
            (Some(_), None) => return Err(Errno::STALE),
            // As on a disk, who has it open goes on with it.
            (None, _) => (file.links, file.away) = (0, false),
        }
        Ok(())
    }
}

impl State {
    /// Makes sure that a file has a name in the folder where it was last seen, which is held; it may
    /// have been renamed there by another node.
    ///
    /// # Errors
    /// ESTALE: it is not there any more.
    fn confirm_home(&mut self, number: InodeNumber) -> Result<()> {
        let file = self.files.get(&number).ok_or(Errno::STALE)?;
        let (folder, name) = file.home.clone().ok_or(Errno::STALE)?;
        let held = self.held(folder)?;
        if held.names.get(&name) == Some(&number) {
            return Ok(());
        }
        let found = held.names.iter().find(|(_, to)| **to == number);
        let found = found.map(|(name, _)| name.clone()).ok_or(Errno::STALE)?;
        if let Some(file) = self.files.get_mut(&number) {
            file.home = Some((folder, found));
        }
        Ok(())
    }

    /// Takes a name from a file.
    fn remove_file_name(
        &mut self,
        number: InodeNumber,
        folder: FolderId,
        name: &EntryName,
        now: i64,
    ) {
        self.set_name(folder, name, None);
        if let Some(file) = self.files.get_mut(&number) {
            file.note_changed(now, None, None);
        }
        self.drop_name(number, &(folder, name.clone()));
    }

    /// Removes a folder that is held and has no names.
    fn remove_folder(&mut self, inner: FolderId, folder: FolderId, name: &EntryName) {
        let being_made = self.is_being_made(inner);
        self.set_name(folder, name, None);
        if let Some(held) = self.folders.remove(&inner) {
            let claim = if being_made { Claim::Held(Epoch(1)) } else { held.claim };
            if let Claim::Held(epoch) = claim {
                self.removed.push((inner, epoch, held.dirty.into_iter().collect()));
            }
        }
        self.dirty_files.remove(&inner.inode());
        if let Some(file) = self.files.get_mut(&inner.inode()) {
            file.links = 0;
        }
        self.forget_if_unused(inner.inode());
    }
}
