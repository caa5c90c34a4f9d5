//! Looking at names, and telling the bucket's tree what is another.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, FileType, Mode, OFlags, Statx, openat};
use rustix::io::Errno;

use super::super::local::is_away;
use super::super::record::{Attr, Kind, Place, Record, Time};
use super::super::tree::{File, Tree, joined};
use super::found::{Found, LARGEST, Large, stamp_of};
use super::stat::{attr_of, kind_of, look};
use super::{INTO, Result, Scan};
use crate::native::Identity;

/// Bytes of files that a scan reads itself; more wait until names may change again.
const READ_AT_ONCE: usize = 16 << 20;

/// One look, at a name or at everything.
pub(super) struct Turn<'a> {
    pub(super) scan: &'a mut Scan,
    pub(super) tree: &'a mut Tree,
    pub(super) found: &'a mut Found,
    pub(super) is_busy: &'a dyn Fn(&Identity) -> bool,
    /// Into folders that are known, too.
    pub(super) deep: bool,
}

impl Turn<'_> {
    pub(super) fn enter(&self, path: &[u8]) -> Result<OwnedFd> {
        let mut folder = openat(&self.scan.root, c".", INTO, Mode::empty())?;
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            folder = openat(&folder, part, INTO, Mode::empty())?;
        }
        Ok(folder)
    }

    pub(super) fn say(&mut self, record: &Record<'_>) {
        self.tree.apply(record);
        self.found.draft.add(record);
    }

    /// A file is like this.
    pub(super) fn dress(&mut self, ino: u64, attr: Attr, kind: &Kind) {
        let is_same = |file: &File| (&file.kind, file.attr) == (kind, attr);
        if !self.tree.file(ino).is_some_and(is_same) {
            self.say(&Record::File { ino, kind: kind.clone(), attr });
        }
    }

    /// All names of a folder, those that are gone too.
    pub(super) fn folder(&mut self, (ino, fd): (u64, &OwnedFd), path: &[u8]) -> Result<()> {
        let mut names: Vec<CString> = Vec::new();
        for entry in Dir::read_from(fd)? {
            let name = entry?.file_name().to_owned();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name);
            }
        }
        let known = self.tree.file(ino).into_iter().flat_map(|file| file.names.keys());
        names.extend(known.filter_map(|name| CString::new(name.as_bytes()).ok()));
        // In one order, so that one state gives one log; and none twice.
        names.sort();
        names.dedup();
        names.iter().try_for_each(|name| self.name((ino, fd), path, name))
    }

    pub(super) fn name(
        &mut self,
        (folder, fd): (u64, &OwnedFd),
        path: &[u8],
        name: &CStr,
    ) -> Result<()> {
        let before = self.tree.find(folder, name.to_bytes());
        let stat = match look(fd, name) {
            Err(Errno::NOENT) => {
                if before.is_some() {
                    self.say(&Record::Gone { folder, name: name.to_bytes() });
                }
                return Ok(());
            }
            stat => stat?,
        };
        let identity = Identity::of(&stat);
        let known = self.scan.numbers.get(&identity).copied();
        let known = known.filter(|ino| self.tree.file(*ino).is_some());
        let kind = kind_of(fd, name, &stat)?;
        let is_busy = kind == Kind::Plain && (self.is_busy)(&identity);
        if is_busy && known.is_none() {
            // It gets its name with its bytes, when it is closed.
            return Ok(());
        }
        let ino = known.unwrap_or(self.tree.next);
        if known.is_none() {
            self.scan.is_number(identity, ino);
        }
        let mut attr = attr_of(&stat);
        if kind == Kind::Plain && self.is_away(ino, fd, name, attr.mtime) {
            // Bytes that come change the time here, and not the file's.
            attr.mtime = self.tree.file(ino).map_or(attr.mtime, |file| file.attr.mtime);
        }
        let whole = joined(path, name.to_bytes());
        if !is_busy {
            self.dress(ino, attr, &kind);
            self.extended(ino, fd, name, &stat)?;
            if kind == Kind::Plain {
                self.bytes((ino, identity), fd, name, &stat, &whole)?;
            }
        }
        if before != Some(ino) {
            if known.is_some() {
                self.found.moved.push((ino, whole.clone()));
            }
            self.say(&Record::Name { folder, name: name.to_bytes(), ino });
        }
        // What was noted of a folder that has moved was noted of its old path.
        let deep = self.deep;
        if kind == Kind::Folder && (before != Some(ino) || deep) {
            let inner = openat(fd, name, INTO, Mode::empty())?;
            self.deep = true;
            let done = self.folder((ino, &inner), &whole);
            self.deep = deep;
            done?;
        }
        Ok(())
    }

    /// Whether its bytes are in the bucket alone, and so its time is not to be believed.
    fn is_away(&self, ino: u64, fd: &OwnedFd, name: &CStr, mtime: Time) -> bool {
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let known = self.tree.file(ino).filter(|file| file.place != Place::Empty);
        known.is_some_and(|file| file.attr.mtime != mtime)
            && openat(fd, name, how, Mode::empty()).is_ok_and(|file| is_away(&file))
    }

    fn bytes(
        &mut self,
        (ino, identity): (u64, Identity),
        fd: &OwnedFd,
        name: &CStr,
        stat: &Statx,
        path: &[u8],
    ) -> Result<()> {
        let stamp = stamp_of(stat);
        let before = self.scan.stamps.get(&ino);
        if before == Some(&stamp) {
            return Ok(());
        }
        let is_written = self.scan.written.as_ref().is_none_or(|all| all.contains(&identity));
        if !is_written && before.is_some_and(|before| before.has_bytes_of(&stamp)) {
            self.scan.is_as(ino, stamp);
            return Ok(());
        }
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(fd, name, how, Mode::empty())?;
        if is_away(&file) {
            // Its bytes never came here: another name or mode is all that it can have got.
            self.scan.is_as(ino, stamp);
            return Ok(());
        }
        if stamp.size() > LARGEST || self.found.draft.length() > READ_AT_ONCE {
            self.found.large.push(Large { ino, identity, path: path.to_vec(), stamp });
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(stamp.size() as usize);
        std::io::Read::read_to_end(&mut std::fs::File::from(file), &mut bytes)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let place = self.found.pack(ino, &bytes);
        self.say(&Record::Bytes { ino, place });
        self.scan.is_as(ino, stamp);
        self.scan.is_clean(&identity);
        Ok(())
    }
}
