//! Looking at names, and telling the bucket's tree what is another.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, Mode, openat};
use rustix::io::Errno;

use super::super::record::{Attr, Kind, Record};
use super::super::tree::{File, Tree, joined};
use super::found::Found;
use super::lend::{Lent, into};
use super::one::One;
use super::stat::{kind_of, look};
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
}
