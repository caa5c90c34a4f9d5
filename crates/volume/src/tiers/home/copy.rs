//! A copy of a body in the directory of its link: bytes with their holes, owner, mode, times,
//! attributes and access control lists.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, SeekFrom, Timestamps, Uid, XattrFlags, chmodat,
    copy_file_range, fchmod, fchown, fgetxattr, flistxattr, fsetxattr, ftruncate, futimens, openat,
    seek, unlinkat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::native::{proc_path, stat_of};
use crate::tiers::{Placed, Tiers};

/// Bytes that one system call copies; more would make a kill wait.
const STEP: usize = 64 << 20;

/// The name that a file has on its way, in the directory where it arrives: two bodies, of whatever
/// rooms, never have the same.
pub(super) fn passing_name(placed: &Placed) -> CString {
    let mut passing = format!(".forebay.{}.", placed.room).into_bytes();
    passing.extend_from_slice(placed.key.to_bytes());
    CString::new(passing).expect("a name holds no NUL")
}

/// Copies a body into `dir`; tells the name of the copy, which is not safe yet.
///
/// # Errors
/// The two file systems'; nothing is left then.
pub(super) fn copy(tiers: &Tiers, placed: &Placed, dir: BorrowedFd<'_>) -> Result<CString, Errno> {
    let (body, mode) = readable(tiers, placed)?;
    let name = passing_name(placed);
    // A copy that an earlier, killed, homecoming began.
    let _ = unlinkat(dir, &name, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(dir, &name, flags, Mode::from_raw_mode(0o600))?;
    match bytes(&body, &file).and_then(|()| attributes(&body, &file, mode)) {
        Ok(()) => Ok(name),
        Err(error) => {
            let _ = unlinkat(dir, &name, AtFlags::empty());
            Err(error)
        }
    }
}

/// Opens a body to read, and tells its mode; its owner may have taken the right to read away.
pub(in crate::tiers) fn readable(tiers: &Tiers, placed: &Placed) -> Result<(OwnedFd, u32), Errno> {
    let held = tiers.reach(placed, OFlags::PATH)?;
    let mode = u32::from(stat_of(held.as_fd(), c"")?.stx_mode) & 0o7777;
    match tiers.reach(placed, OFlags::RDONLY) {
        Err(Errno::ACCESS) => {
            let change = |mode| {
                let path = proc_path(held.as_fd());
                chmodat(CWD, path, Mode::from_raw_mode(mode), AtFlags::empty())
            };
            change(mode | 0o400)?;
            let body = tiers.reach(placed, OFlags::RDONLY);
            change(mode)?;
            Ok((body?, mode))
        }
        other => Ok((other?, mode)),
    }
}

/// The bytes, hole by hole.
pub(in crate::tiers) fn bytes(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    let size = stat_of(from.as_fd(), c"")?.stx_size;
    ftruncate(to, size)?;
    let mut at = 0;
    while at < size {
        let start = match seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            // The rest is a hole.
            Err(Errno::NXIO) => return Ok(()),
            // A file system that knows no holes.
            Err(Errno::INVAL) => at,
            Err(error) => return Err(error),
        };
        let end = match seek(from, SeekFrom::Hole(start)) {
            Ok(end) => end.min(size),
            Err(_) => size,
        };
        range(from, to, start, end)?;
        at = end.max(start + 1);
    }
    Ok(())
}

fn range(from: &OwnedFd, to: &OwnedFd, start: u64, end: u64) -> Result<(), Errno> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let step = usize::try_from(end - read_at).unwrap_or(STEP).min(STEP);
        match copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), step) {
            Ok(count) if count > 0 => {}
            Err(Errno::INTR) => {}
            // Some file systems say "nothing" when they mean "not I".
            Ok(_) | Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                return by_hand(from, to, read_at, end);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn by_hand(from: &OwnedFd, to: &OwnedFd, mut at: u64, end: u64) -> Result<(), Errno> {
    let mut buffer = vec![0u8; 1 << 20];
    while at < end {
        let want = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        let count = match rustix::io::pread(from, &mut buffer[..want], at) {
            // Shorter than it says: no copy of it would be whole.
            Ok(0) => return Err(Errno::IO),
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let mut written = 0;
        while written < count {
            match rustix::io::pwrite(to, &buffer[written..count], at + written as u64) {
                Ok(more) => written += more,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        at += count as u64;
    }
    Ok(())
}

/// Owner first (a change clears set-id bits and capabilities), attributes while the file can still
/// be written, then mode, and times last.
fn attributes(from: &OwnedFd, to: &OwnedFd, mode: u32) -> Result<(), Errno> {
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
