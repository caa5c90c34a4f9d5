//! Attributes of files that are here already.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fremovexattr, openat};
use rustix::io::Errno;

use super::super::super::extended;
use super::super::super::local::{dress, dress_by_name, extend};
use super::super::super::record::Kind;
use super::super::super::scan::{Lent, into};
use super::super::super::tree::{File, ROOT};
use super::super::shown::{Result, c_name, open_up};
use super::Turn;

impl Turn<'_> {
    /// Owner, mode, time and extended attributes of a file that stays the file that it is.
    pub(super) fn dress_file(&mut self, ino: u64, file: &File) -> Result<()> {
        let spot = self.shown.spots.get(&ino).ok_or(Errno::STALE)?;
        let folder = self.shown.enter(spot.parent)?;
        if self.shown.there(&folder, &spot.name)? != Some(spot.identity) {
            return Err(Errno::STALE);
        }
        let name = c_name(&spot.name)?;
        if file.kind == Kind::Plain {
            let lent = Lent::of(&folder.fd, name.as_c_str());
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let opened = openat(&folder.fd, &name, how, Mode::empty())?;
            drop(lent);
            extend_as(&opened, (&folder.fd, &name), file)?;
            dress(&opened, file.attr)?;
        } else {
            dress_by_name(&folder.fd, &name, file.attr)?;
        }
        self.changes.files.push(spot.identity);
        Ok(())
    }

    /// The same of folders, in which names have changed. What this user may not set stays.
    pub(super) fn dress(&mut self) {
        for ino in std::mem::take(&mut self.dressing) {
            let (Some(file), Some(spot)) = (self.tree.file(ino), self.shown.spots.get(&ino)) else {
                continue;
            };
            let identity = spot.identity;
            if let Err(error) = self.dress_folder(ino, file) {
                tracing::warn!("attributes of {}: {error}", self.shown.path_of(ino));
            }
            self.changes.files.push(identity);
        }
    }

    fn dress_folder(&self, ino: u64, file: &File) -> Result<()> {
        if ino == ROOT {
            let root = self.shown.enter(ROOT)?;
            extend_as(&root.fd, (&root.fd, c"."), file)?;
            return dress(&root.fd, file.attr);
        }
        let spot = self.shown.spots.get(&ino).ok_or(Errno::STALE)?;
        let above = self.shown.enter(spot.parent)?;
        let name = c_name(&spot.name)?;
        let (folder, lent) = into(&above.fd, name.as_c_str())?;
        drop(lent);
        open_up(&folder)?;
        extend_as(&folder, (&above.fd, &name), file)?;
        dress(&folder, file.attr)
    }
}

/// Extended attributes as the volume has them, and no others.
fn extend_as(opened: &OwnedFd, (folder, name): (&OwnedFd, &CStr), file: &File) -> Result<()> {
    let now = extended::of(folder.as_fd(), name)?;
    for name in now.keys().filter(|name| !file.extended.contains_key(*name)) {
        fremovexattr(opened, name.as_slice())?;
    }
    if now != file.extended { extend(opened, file) } else { Ok(()) }
}
