//! The mark of a placeholder, a file whose bytes are in the bucket alone, and how it is taken off.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Mode, Timestamps, chmodat, fgetxattr, fremovexattr, fstat, futimens,
};
use rustix::io::{Errno, Result};
use rustix::time::Timespec;

use super::tree_record::Time;
use forebay_os::file_identity::proc_fd_path;

/// The extended attribute of a file whose bytes are in the bucket alone.
pub(super) const AWAY: &str = "user.forebay.away";

/// Whether a file's bytes are in the bucket alone.
pub(super) fn is_evicted(file: impl AsFd) -> bool {
    fgetxattr(file, AWAY, &mut [0u8; 16][..]).is_ok()
}

/// Gives a file its time of modification.
///
/// # Errors
/// Those of the file system.
pub(super) fn set_mtime(file: &OwnedFd, mtime: Time) -> Result<()> {
    let last_access = Timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT as _ };
    let last_modification = Timespec { tv_sec: mtime.sec, tv_nsec: mtime.nsec.into() };
    futimens(file, &Timestamps { last_access, last_modification })
}

/// A file has its bytes now: it is no placeholder any more.
///
/// # Errors
/// Those of the file system.
pub(super) fn mark_present(file: &OwnedFd, mtime: Time) -> Result<()> {
    // Its own time first: with the mark it is not believed.
    set_mtime(file, mtime)?;
    clear_evicted_mark(file)
}

/// Takes the mark off a file, also off one that its owner may only read.
///
/// # Errors
/// Those of the file system.
pub(super) fn clear_evicted_mark(file: &OwnedFd) -> Result<()> {
    match fremovexattr(file, AWAY) {
        // For attributes the mode counts, not how the file was opened.
        Err(Errno::ACCESS) => while_writable(file.as_fd(), || fremovexattr(file, AWAY)),
        done => done,
    }
}

/// Does something for which the owner has to be let in.
///
/// # Errors
/// What it says, or those of the file system.
pub(super) fn while_writable<T>(
    file: BorrowedFd<'_>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let mode = Mode::from_raw_mode(fstat(file)?.st_mode & 0o7777);
    let path = proc_fd_path(file);
    chmodat(CWD, &path, mode | Mode::RUSR | Mode::WUSR, AtFlags::empty())?;
    let done = work();
    chmodat(CWD, &path, mode, AtFlags::empty())?;
    done
}
