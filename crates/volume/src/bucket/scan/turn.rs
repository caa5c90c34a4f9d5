//! Looking at names, and telling the bucket's tree what is another.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, Mode, openat};
use rustix::io::Errno;

use super::super::record::{Attr, Kind, Record};
use super::super::tree::{File, Tree, joined};
use super::found::Found;
use super::stat::{attr_of, kind_of, look};
use super::{INTO, Result, Scan};
use crate::native::Identity;

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
}
