//! A body's owner, mode, times, attributes and access control lists, given to its copy.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    Gid, Mode, Timestamps, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fsetxattr,
    futimens,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::native::stat_of;

/// Owner first (a change clears set-id bits and capabilities), attributes while the file can still
/// be written, then mode, and times last.
pub(in crate::tiers) fn attributes(from: &OwnedFd, to: &OwnedFd, mode: u32) -> Result<(), Errno> {
    let stat = stat_of(from.as_fd(), c"")?;
    let (uid, gid) = (Uid::from_raw(stat.stx_uid), Gid::from_raw(stat.stx_gid));
    let owned = stat_of(to.as_fd(), c"")?;
    if (owned.stx_uid, owned.stx_gid) != (stat.stx_uid, stat.stx_gid) {
        fchown(to, Some(uid), Some(gid))?;
    }
    extended(from, to)?;
    fchmod(to, Mode::from_raw_mode(mode))?;
    let time = |t: &rustix::fs::StatxTimestamp| Timespec {
        tv_sec: t.tv_sec,
        tv_nsec: i64::from(t.tv_nsec) as _,
    };
    let times =
        Timestamps { last_access: time(&stat.stx_atime), last_modification: time(&stat.stx_mtime) };
    futimens(to, &times)
}

/// Extended attributes that programs set. A user's own that can't be carried is an error; labels
/// that file systems and security modules give by themselves (`system.nfs4_acl`, `security.ima`,
/// `lustre.*`) are not carried.
pub(in crate::tiers) fn extended(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let mut names = vec![0u8; 64 << 10];
    let length = match flistxattr(from, &mut names) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut value = vec![0u8; 64 << 10];
    for name in names[..length].split_inclusive(|byte| *byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        let text = name.to_bytes();
        let users = text.starts_with(b"user.");
        let known = [&b"system.posix_acl_access"[..], b"security.capability"].contains(&text);
        if !users && !known && !text.starts_with(b"trusted.") {
            continue;
        }
        let carried = fgetxattr(from, name, &mut value)
            .and_then(|size| fsetxattr(to, name, &value[..size], XattrFlags::empty()));
        match carried {
            Err(error) if users => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
