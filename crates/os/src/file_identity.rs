//! One file, whatever it is called: who it is, what statx(2) says of it, and how to open it again.

use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, StatxFlags, openat, statx};
use rustix::io::Result;

/// Tells one file from another, also after its inode number was used again: device, inode and,
/// where the file system keeps it, time of birth in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// Its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970; 0 if nobody knows.
    pub born: i128,
}

impl FileIdentity {
    /// That of the file that was asked.
    pub fn from_statx(stat: &Statx) -> FileIdentity {
        let born = if stat.stx_mask & libc::STATX_BTIME != 0 {
            i128::from(stat.stx_btime.tv_sec) * 1_000_000_000 + i128::from(stat.stx_btime.tv_nsec)
        } else {
            0
        };
        FileIdentity { device: device_number(stat), inode: stat.stx_ino, born }
    }
}

/// The device number of the file system that holds the file.
pub fn device_number(stat: &Statx) -> u64 {
    rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor)
}

/// statx(2) of `name` below `dir`, or of `dir` itself for an empty name; follows nothing.
pub fn statx_nofollow(dir: BorrowedFd<'_>, name: &CStr) -> Result<Statx> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT;
    statx(dir, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)
}

/// statx(2) of an open file as this machine knows it: what it has written itself counts, and a network
/// file system is not asked whether others have (`AT_STATX_DONT_SYNC`), which takes a round trip.
pub fn statx_as_cached(file: BorrowedFd<'_>) -> Result<Statx> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(file, c"", flags, StatxFlags::BASIC_STATS)
}

/// The name under which /proc leads to an open descriptor: the way to reopen, or to change by
/// path, exactly that file (see proc(5), `/proc/pid/fd`).
pub fn proc_fd_path(fd: BorrowedFd<'_>) -> CString {
    use std::os::fd::AsRawFd;
    CString::new(format!("/proc/self/fd/{}", fd.as_raw_fd())).expect("digits hold no NUL")
}

/// Opens again, with other flags, the file behind a descriptor.
pub fn reopen_with_flags(fd: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd> {
    openat(CWD, proc_fd_path(fd), flags | OFlags::CLOEXEC, Mode::empty())
}
