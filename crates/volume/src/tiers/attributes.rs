//! A body's owner, mode, times, attributes and access control lists, given to its copy.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    Gid, Mode, Timestamps, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fsetxattr,
    futimens,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::time::Timespec;

use forebay_os::file_identity::statx_nofollow;

/// The mode with which a copy is made: its own where that lets nobody in who may not read it later,
/// for each change of attributes is a request to storage that may be far away. Which group a new
/// file gets is for its directory to say, and an access control list (acl(5)) lets fewer in than the
/// mode says.
pub(super) fn initial_mode(from: &OwnedFd, mode: u32) -> Result<Mode, Errno> {
    let is_mine = statx_nofollow(from.as_fd(), c"")?.stx_uid == geteuid().as_raw();
    let favours_group = mode >> 3 & !mode & 0o7 != 0;
    let is_open = is_mine && !favours_group && list_copied_xattrs(from)?.is_empty();
    Ok(Mode::from_raw_mode(if is_open { mode & 0o777 } else { 0o600 }))
}

/// Owner first (a change clears set-id bits and capabilities), attributes while the file can still
/// be written, then mode, and times last.
pub(super) fn copy_attributes(from: &OwnedFd, to: &OwnedFd, mode: u32) -> Result<(), Errno> {
    let stat = statx_nofollow(from.as_fd(), c"")?;
    let (uid, gid) = (Uid::from_raw(stat.stx_uid), Gid::from_raw(stat.stx_gid));
    let made = statx_nofollow(to.as_fd(), c"")?;
    let is_owned = (made.stx_uid, made.stx_gid) == (stat.stx_uid, stat.stx_gid);
    if !is_owned {
        fchown(to, Some(uid), Some(gid))?;
    }
    // Another owner clears bits of the mode, and a list changes them.
    let is_changed = copy_xattrs(from, to)? || !is_owned;
    if is_changed || u32::from(made.stx_mode) & 0o7777 != mode {
        fchmod(to, Mode::from_raw_mode(mode))?;
    }
    let time = |t: &rustix::fs::StatxTimestamp| Timespec {
        tv_sec: t.tv_sec,
        tv_nsec: i64::from(t.tv_nsec) as _,
    };
    let times =
        Timestamps { last_access: time(&stat.stx_atime), last_modification: time(&stat.stx_mtime) };
    futimens(to, &times)
}

/// Extended attributes that programs set; whether there are any. A user's own that can't be carried
/// is an error.
pub(super) fn copy_xattrs(from: &OwnedFd, to: &OwnedFd) -> Result<bool, Errno> {
    let names = list_copied_xattrs(from)?;
    let mut value = vec![0u8; if names.is_empty() { 0 } else { 64 << 10 }];
    for name in &names {
        let done = fgetxattr(from, name, &mut value)
            .and_then(|size| fsetxattr(to, name, &value[..size], XattrFlags::empty()));
        match done {
            Err(error) if name.to_bytes().starts_with(b"user.") => return Err(error),
            _ => {}
        }
    }
    Ok(!names.is_empty())
}

/// Names of the attributes that a copy gets, too. Labels that file systems and security modules give
/// by themselves (`system.nfs4_acl`, `security.ima`, `lustre.*`) are not among them.
fn list_copied_xattrs(from: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let mut names = vec![0u8; 64 << 10];
    let length = match flistxattr(from, &mut names) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names = names[..length].split_inclusive(|byte| *byte == 0);
    let is_carried = |name: &&CStr| {
        let text = name.to_bytes();
        let known = [&b"system.posix_acl_access"[..], b"security.capability"].contains(&text);
        known || text.starts_with(b"user.") || text.starts_with(b"trusted.")
    };
    let names = names.filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    Ok(names.filter(is_carried).map(CStr::to_owned).collect())
}
