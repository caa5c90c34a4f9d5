//! Directories below another, reached by descriptors, without ever following a link.

use std::ffi::{CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

/// How a directory is held whose names nobody lists: that it may be searched is enough.
pub(super) const HOLD: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A directory below `root`, reached without following any link.
pub(super) fn open_below(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut dir = hold_directory(root, OsStr::new("."))?;
    for part in path.components() {
        let Component::Normal(part) = part else { return Err(Errno::INVAL) };
        dir = hold_directory(&dir, part)?;
    }
    Ok(dir)
}

/// A directory in another, to make, find and remove names in it.
pub(super) fn hold_directory(above: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(above, name, HOLD, Mode::empty())
}

/// The directory of a path below `root`, reached without following any link, and its last name.
pub(super) fn open_parent(root: &OwnedFd, path: &Path) -> Result<(OwnedFd, CString), Errno> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let name = CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)?;
    Ok((open_below(root, path.parent().unwrap_or(Path::new("")))?, name))
}
