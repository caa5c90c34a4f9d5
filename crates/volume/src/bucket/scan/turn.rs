//! Looking at names, and telling the bucket's tree what is another.

mod bytes;
mod layout;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, FileType, Mode, Statx, openat};
use rustix::io::Errno;

use super::super::extended;
use super::super::record::{Attr, Kind, Record};
use super::super::tree::{File, Tree, joined};
use super::found::{Found, Stamp, Unread, stamp_of};
use super::lend::{Lent, into};
use super::stat::{attr_of, kind_of, look};
use super::{INTO, Result, Scan};
use forebay_os::files::FileIdentity;

/// One look, at a name or at everything.
pub(super) struct Turn<'a> {
    pub(super) scan: &'a mut Scan,
    pub(super) tree: &'a mut Tree,
    pub(super) found: &'a mut Found,
    pub(super) is_busy: &'a dyn Fn(&FileIdentity) -> bool,
    /// Into folders that are known, too.
    pub(super) deep: bool,
    /// What is looked at has another name than before, or is in a folder that has.
    pub(super) has_moved: bool,
    /// The file that is looked at can't be opened later.
    pub(super) is_lent: bool,
}

/// A name, and what is known of its file.
struct One<'a> {
    /// The folder that has the name, and where it led.
    folder: u64,
    fd: &'a OwnedFd,
    name: &'a CStr,
    before: Option<u64>,
    ino: u64,
    /// It has a name in the bucket.
    is_known: bool,
    identity: FileIdentity,
    kind: Kind,
    /// Its bytes may be changing.
    is_busy: bool,
    stat: Statx,
    path: Vec<u8>,
}

impl Turn<'_> {
    /// Opens a folder by its path; what was lent for that is needed as long as it is looked at.
    pub(super) fn enter(&self, path: &[u8]) -> Result<(OwnedFd, Vec<Lent>)> {
        let mut lent = Vec::new();
        let mut folder = openat(&self.scan.root, c".", INTO, Mode::empty())?;
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            let (inner, more) = into(&folder, part)?;
            lent.extend(more);
            folder = inner;
        }
        Ok((folder, lent))
    }

    fn say(&mut self, record: &Record<'_>) {
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

    /// Looks at the extended attributes of a file or folder.
    ///
    /// # Errors
    /// Those of the file system.
    fn extended(&mut self, ino: u64, fd: &OwnedFd, name: &CStr, stat: &Statx) -> Result<()> {
        let (stamp, known) = (stamp_of(stat), self.scan.stamps.get(&ino));
        let is_folder = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Directory;
        let is_file = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::RegularFile;
        if !is_folder && (!is_file || known == Some(&stamp)) {
            return Ok(());
        }
        let now = extended::of(fd.as_fd(), name)?;
        let before = self.tree.file(ino).map(|file| file.extended.clone()).unwrap_or_default();
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            self.say(&Record::Extended { ino, name, value: None });
        }
        for (name, value) in now.iter().filter(|(name, value)| before.get(*name) != Some(*value)) {
            self.say(&Record::Extended { ino, name, value: Some(value) });
        }
        Ok(())
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
        let identity = FileIdentity::of(&stat);
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
        let path = joined(path, name.to_bytes());
        let is_known = known.is_some();
        let one =
            One { folder, fd, name, before, ino, is_known, identity, kind, is_busy, stat, path };
        let (deep, has_moved) = (self.deep, self.has_moved);
        self.has_moved |= before != Some(ino);
        let done = self.lend(&one);
        (self.deep, self.has_moved) = (deep, has_moved);
        match done {
            Err(Errno::ACCESS | Errno::PERM) => self.can_not_read(&one),
            done => done?,
        }
        Ok(())
    }

    /// Looks at a file that may have to be lent a permission for that.
    fn lend(&mut self, one: &One<'_>) -> Result<()> {
        let known = self.scan.stamps.get(&one.ino) == Some(&stamp_of(&one.stat));
        let lent = match known || one.is_busy {
            true => None,
            false => Lent::of(one.fd, one.name),
        };
        let (was_lent, large) = (self.is_lent, self.found.large.len());
        self.is_lent = lent.is_some();
        let done = self.one(one);
        self.is_lent = was_lent;
        if let Some(lent) = lent {
            drop(lent);
            // Lending changes a time by which files are told from what they were.
            let (before, now) = (stamp_of(&one.stat), stamp_of(&look(one.fd, one.name)?));
            if self.scan.stamps.get(&one.ino) == Some(&before) {
                self.scan.is_as(one.ino, now);
            }
            let found = self.found.large.iter_mut().skip(large);
            found.filter(|large| large.ino == one.ino).for_each(|large| large.stamp = now);
        }
        done
    }

    /// It can't be read: the bucket keeps what it has of it, and it is told.
    fn can_not_read(&mut self, one: &One<'_>) {
        let unread = Unread { path: one.path.clone(), identity: one.identity };
        self.found.unread.push(unread);
    }

    /// Tells of a file and its name what is another.
    ///
    /// # Errors
    /// Those of the file system.
    fn one(&mut self, one: &One<'_>) -> Result<()> {
        let One { folder, fd, name, before, ino, ref kind, ref stat, .. } = *one;
        if !one.is_busy {
            let mut attr = attr_of(stat);
            if *kind == Kind::Plain && self.is_away(ino, fd, name, attr.mtime) {
                // Bytes that come change the time here, and not the file's.
                attr.mtime = self.tree.file(ino).map_or(attr.mtime, |file| file.attr.mtime);
            }
            self.dress(ino, attr, kind);
            self.extended(ino, fd, name, stat)?;
            if *kind == Kind::Plain
                && let Err(error) = self.bytes(one)
            {
                // With what the bucket has of it, if there is any.
                if one.is_known && before != Some(ino) {
                    self.say(&Record::Name { folder, name: name.to_bytes(), ino });
                }
                return Err(error);
            }
        } else if !self.is_laid(one) {
            // When it is closed.
            self.scan.is_as(ino, Stamp::NEVER);
        }
        if before != Some(ino) {
            self.say(&Record::Name { folder, name: name.to_bytes(), ino });
        }
        // What was noted of a folder that has moved was noted of its old path.
        if *kind == Kind::Folder && (before != Some(ino) || self.deep) {
            let inner = openat(fd, name, INTO, Mode::empty())?;
            self.deep = true;
            self.folder((ino, &inner), &one.path)?;
        }
        Ok(())
    }
}
