//! The working file of a packed file that somebody has open.

use std::os::fd::AsFd;

use rustix::fs::{Statx, Timestamps, futimens};
use rustix::time::Timespec;

use crate::native::Result;
use forebay_os::files::stat_of;
use forebay_packlog::{Time, Work};

#[derive(Debug)]
pub(super) struct InUse {
    pub(super) work: Work,
    /// Set-id bits that the working file was given, for a write to take away.
    pub(super) set_id: u32,
    /// The pack knows that it may be written to.
    pub(super) begun: bool,
    /// The working file's time of change when we changed its attributes last, which is no change of
    /// the file that it stands for.
    pub(super) since: Time,
}

impl InUse {
    /// A working file that has the caller's times.
    pub(super) fn new(work: Work, begun: bool) -> Result<InUse> {
        let since = Time::of(&stat_of(work.file.as_fd(), c"")?.stx_ctime);
        Ok(InUse { work, set_id: 0, begun, since })
    }

    pub(super) fn stat(&self) -> Result<Statx> {
        stat_of(self.work.file.as_fd(), c"")
    }

    /// We have changed attributes of the working file.
    pub(super) fn attributes_set(&mut self) -> Result<()> {
        self.since = Time::of(&self.stat()?.stx_ctime);
        Ok(())
    }

    /// Set-id bits that a write has taken away.
    pub(super) fn lost(&self, now: &Statx) -> u32 {
        self.set_id & !u32::from(now.stx_mode)
    }
}

/// The caller's times on a working file, so that its own clock goes on from there.
pub(super) fn stamp(work: &Work, atime: Time, mtime: Time) -> Result<()> {
    let time = |time: Time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ };
    let times = Timestamps { last_access: time(atime), last_modification: time(mtime) };
    futimens(&work.file, &times)
}
