//! The times of directories that files come home to: a directory is as old as its files say, not as
//! their coming home. Nextflow hashes them, and would run again what takes such a directory.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Statx, Timestamps, utimensat};
use rustix::time::Timespec;

use crate::tiers::beneath::open_below;
use crate::tiers::workers::{FAR, run_in_parallel};
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};
use forebay_packlog::{DirKey, Time};

/// Times as they were before the first file came.
#[derive(Default)]
pub(super) struct RestoredTimes(HashMap<DirKey, (PathBuf, Statx)>);

impl RestoredTimes {
    /// A file is about to come to a directory.
    pub(super) fn remember_times(&mut self, dir: BorrowedFd<'_>, path: &Path) {
        if let Ok(stat) = statx_nofollow(dir, c"") {
            self.remember_stat(path, &stat);
        }
    }

    /// The same, of a directory whose times are known.
    pub(super) fn remember_stat(&mut self, path: &Path, stat: &Statx) {
        self.0.entry(DirKey::from_statx(stat)).or_insert_with(|| (path.to_owned(), *stat));
    }

    /// All have come that were to come for now.
    pub(super) fn restore_times(&mut self, root: &OwnedFd) {
        let all: Vec<_> = self.0.drain().collect();
        let restore = |(key, (path, stat)): &(DirKey, (PathBuf, Statx)), _: &dyn Fn(u64)| {
            let dir = open_below(root, path)?;
            if DirKey::from_statx(&statx_nofollow(dir.as_fd(), c"")?) == *key {
                set_directory_times(dir.as_fd(), stat);
            }
            Ok(())
        };
        // One that is gone or closed has the time of its last file that came.
        let _ = run_in_parallel(FAR, &all, restore, |_| ());
    }
}

/// Gives a directory the times that it had.
pub(crate) fn set_directory_times(dir: BorrowedFd<'_>, stat: &Statx) {
    let time = |time: Time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ };
    let times = Timestamps {
        last_access: time(Time::from_timestamp(&stat.stx_atime)),
        last_modification: time(Time::from_timestamp(&stat.stx_mtime)),
    };
    // Without, as in somebody else's directory, its times are those of its last file that came.
    let _ = utimensat(CWD, proc_fd_path(dir), &times, AtFlags::empty());
}
