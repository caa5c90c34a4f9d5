//! Attributes of files that are here already.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fremovexattr, openat};
use rustix::io::Errno;

use super::super::super::extended;
use super::super::super::placeholder_tree::{set_attributes, set_attributes_by_name, set_xattrs};
use super::super::super::scan::{LentReadPermission, open_directory_at};
use super::super::super::tree::{ROOT, VolumeFile};
use super::super::super::tree_record::Kind;
use super::super::local_tree::{Result, c_name, make_owner_writable};
use super::TreeUpdate;

impl TreeUpdate<'_> {
    /// Owner, mode, time and extended attributes of a file that stays the file that it is.
    pub(super) fn set_file_attributes(&mut self, ino: u64, file: &VolumeFile) -> Result<()> {
        let spot = self.shown.spots.get(&ino).ok_or(Errno::STALE)?;
        let folder = self.shown.open_directory(spot.parent)?;
        if self.shown.lookup_identity(&folder, &spot.name)? != Some(spot.identity) {
            return Err(Errno::STALE);
        }
        let name = c_name(&spot.name)?;
        if file.kind == Kind::Plain {
            let lent = LentReadPermission::grant_read_access(&folder.fd, name.as_c_str());
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let opened = openat(&folder.fd, &name, how, Mode::empty())?;
            drop(lent);
            replace_xattrs(&opened, (&folder.fd, &name), file)?;
            set_attributes(&opened, file.attr)?;
        } else {
            set_attributes_by_name(&folder.fd, &name, file.attr)?;
        }
        self.changes.files.push(spot.identity);
        Ok(())
    }

    /// The same of folders, in which names have changed. What this user may not set stays.
    pub(super) fn set_pending_attributes(&mut self) {
        for ino in std::mem::take(&mut self.dressing) {
            let (Some(file), Some(spot)) = (self.tree.file(ino), self.shown.spots.get(&ino)) else {
                continue;
            };
            let identity = spot.identity;
            if let Err(error) = self.set_directory_attributes(ino, file) {
                tracing::warn!("attributes of {}: {error}", self.shown.path_of(ino));
            }
            self.changes.files.push(identity);
        }
    }

    fn set_directory_attributes(&self, ino: u64, file: &VolumeFile) -> Result<()> {
        if ino == ROOT {
            let root = self.shown.open_directory(ROOT)?;
            replace_xattrs(&root.fd, (&root.fd, c"."), file)?;
            return set_attributes(&root.fd, file.attr);
        }
        let spot = self.shown.spots.get(&ino).ok_or(Errno::STALE)?;
        let above = self.shown.open_directory(spot.parent)?;
        let name = c_name(&spot.name)?;
        let (folder, lent) = open_directory_at(&above.fd, name.as_c_str())?;
        drop(lent);
        make_owner_writable(&folder)?;
        replace_xattrs(&folder, (&above.fd, &name), file)?;
        set_attributes(&folder, file.attr)
    }
}

/// Extended attributes as the volume has them, and no others.
fn replace_xattrs(
    opened: &OwnedFd,
    (folder, name): (&OwnedFd, &CStr),
    file: &VolumeFile,
) -> Result<()> {
    let now = extended::read_xattrs(folder.as_fd(), name)?;
    for name in now.keys().filter(|name| !file.extended.contains_key(*name)) {
        fremovexattr(opened, name.as_slice())?;
    }
    if now != file.extended { set_xattrs(opened, file) } else { Ok(()) }
}
