//! A file that was made beside its name gets it.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use crate::native::proc_path;

pub(super) fn name_it(
    file: &OwnedFd,
    named: bool,
    passing: &CStr,
    (dir, name): (&OwnedFd, &CStr),
    replace: bool,
) -> Result<(), Errno> {
    if named && replace {
        return renameat(dir, passing, dir, name);
    }
    if named {
        return match renameat_with(dir, passing, dir, name, RenameFlags::NOREPLACE) {
            // NFS and others know no such rename. A link replaces nothing either.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                linkat(dir, passing, dir, name, AtFlags::empty())?;
                unlinkat(dir, passing, AtFlags::empty())
            }
            other => other,
        };
    }
    let follow = AtFlags::SYMLINK_FOLLOW;
    match linkat(CWD, proc_path(file.as_fd()), dir, name, follow) {
        Err(Errno::EXIST) if replace => {
            let _ = unlinkat(dir, passing, AtFlags::empty());
            linkat(CWD, proc_path(file.as_fd()), dir, passing, follow)?;
            renameat(dir, passing, dir, name)
        }
        other => other,
    }
}
