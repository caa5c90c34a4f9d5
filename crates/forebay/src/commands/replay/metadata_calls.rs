//! Calls on names, as a replay makes them.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::{Errno, Result};

/// A file in no directory of any replay: a link to it is refused after the new name was looked up.
const ELSEWHERE: &str = "/proc/version";

pub(super) const NOW: fs::Timestamps = fs::Timestamps {
    last_access: fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW as _ },
    last_modification: fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW as _ },
};

/// Attributes, past the caches: what is replayed had come to storage in the run.
pub(super) fn read_attributes(at: &OwnedFd, name: &Path) -> Result<()> {
    let how = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC | AtFlags::SYMLINK_NOFOLLOW;
    fs::statx(at, name, how, StatxFlags::BASIC_STATS).map(drop)
}

/// A look at a name, past the kernel's cache of names where a file system allows it: a new link is
/// asked for, which can't be made.
pub(super) fn look_up_name(at: &OwnedFd, name: &Path) -> Result<()> {
    match fs::linkat(fs::CWD, ELSEWHERE, at, name, AtFlags::empty()) {
        Err(Errno::EXIST | Errno::XDEV) => Ok(()),
        _ => read_attributes(at, name),
    }
}

pub(super) fn list_directory(at: &OwnedFd, name: &Path) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let folder = fs::openat(at, name, flags, Mode::empty())?;
    fs::Dir::new(folder)?.try_for_each(|entry| entry.map(drop))
}

pub(super) fn mkdir(at: &OwnedFd, name: &Path) -> Result<()> {
    fs::mkdirat(at, name, Mode::from(0o777))
}

pub(super) fn accept_existing(error: Errno) -> Result<()> {
    if error == Errno::EXIST { Ok(()) } else { Err(error) }
}
