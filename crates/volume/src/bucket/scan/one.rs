//! One name that is looked at, and what is told of its file.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, Statx, openat};

use super::super::record::{Kind, Record};
use super::found::Stamp;
use super::stat::attr_of;
use super::turn::Turn;
use super::{INTO, Result};
use forebay_os::files::FileIdentity;

/// A name, and what is known of its file.
pub(super) struct One<'a> {
    /// The folder that has the name, and where it led.
    pub(super) folder: u64,
    pub(super) fd: &'a OwnedFd,
    pub(super) name: &'a CStr,
    pub(super) before: Option<u64>,
    pub(super) ino: u64,
    /// It has a name in the bucket.
    pub(super) is_known: bool,
    pub(super) identity: FileIdentity,
    pub(super) kind: Kind,
    /// Its bytes may be changing.
    pub(super) is_busy: bool,
    pub(super) stat: Statx,
    pub(super) path: Vec<u8>,
}

impl Turn<'_> {
    /// Tells of a file and its name what is another.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn one(&mut self, one: &One<'_>) -> Result<()> {
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
