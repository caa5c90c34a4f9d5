//! Times of directories whose packed names changed: set in place a little later, all in one.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use parking_lot::MutexGuard;
use rustix::fs::{AtFlags, CWD, Timestamps, utimensat};
use rustix::time::Timespec;

use crate::native::{Native, Node, boot_nanos};
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};
use forebay_packlog::Time;

/// How long the times of a directory in place may be behind its packed names, in nanoseconds.
const BEHIND_MAX: u64 = 1_000_000_000;

impl Native {
    /// A directory changes with its packed names: now, or soon where it is believed for longer.
    pub(in crate::native) fn touch_dir(&self, dir: &Arc<Node>, fd: BorrowedFd<'_>) {
        // On this machine's own storage nobody else tells by them what is new.
        let waits = self.is_local() || self.metadata_cache_timeout(dir).is_some();
        match (waits, self.pack()) {
            (true, Some(pack)) => {
                if dir.folder().note_packed_change(pack.timestamp_now(), boot_nanos()) {
                    self.note_touched(dir);
                }
            }
            (_, pack) => {
                // As fine-grained as file systems stamp by themselves it would be newer than what
                // is packed a moment later; it never goes back, nor do those that are packed then.
                let there =
                    statx_nofollow(fd, c"").map(|stat| Time::from_timestamp(&stat.stx_mtime));
                let now = pack.map(|pack| {
                    there.iter().for_each(|there| pack.note_seen_time(*there));
                    pack.timestamp_now()
                });
                self.set_modification_time(
                    fd,
                    now.map(|now| there.map_or(now, |there| now.max(there))),
                );
            }
        }
    }

    /// The times of a directory are to be set in place, in the end at the latest.
    pub(in crate::native) fn note_touched(&self, dir: &Arc<Node>) {
        self.touched.lock().push(Arc::clone(dir));
    }

    /// Sets the times in place of directories whose packed names changed, if that is some time ago.
    pub(crate) fn set_overdue_times(&self) {
        let now = boot_nanos();
        let is_due =
            |since: Option<u64>| since.is_none_or(|at| now.saturating_sub(at) > BEHIND_MAX);
        let due: Vec<_> = {
            let mut touched = self.touched.lock();
            touched.extract_if(.., |dir| is_due(dir.folder().touched_since())).collect()
        };
        due.iter().for_each(|dir| self.set_pending_times(dir));
    }

    /// The same of all, at once.
    pub(crate) fn set_all_times(&self) {
        let all = std::mem::take(&mut *self.touched.lock());
        all.iter().for_each(|dir| self.set_pending_times(dir));
    }

    /// Sets the times of one directory, before they are asked for.
    pub(in crate::native) fn set_pending_times(&self, dir: &Arc<Node>) {
        drop(self.lock_and_set_times(dir));
    }

    /// The same before they are set otherwise: nothing hides that as long as what this returns is
    /// held.
    pub(in crate::native) fn lock_and_set_times<'n>(
        &self,
        dir: &'n Arc<Node>,
    ) -> Option<MutexGuard<'n, ()>> {
        let folder = match dir.is_dir() && self.writes_back_packed_eagerly() {
            true => dir.folder(),
            false => dir.folder.get()?,
        };
        let alone = folder.lock_times();
        let times = folder.pending_times();
        if times.is_empty() {
            return Some(alone);
        }
        let mut stats = None;
        if let Ok(fd) = self.dir_fd_of(dir) {
            folder.begin_times_change();
            let stat = statx_nofollow(fd.as_fd(), c"");
            let time = stat.map(|stat| {
                [times.exposed_stat(stat), stat].map(|s| Time::from_timestamp(&s.stx_mtime))
            });
            if let Ok([wanted, there]) = time
                && wanted != there
            {
                self.credentials
                    .run_as_daemon(|| self.set_modification_time(fd.as_fd(), Some(wanted)));
            }
            stats = stat.ok().zip(statx_nofollow(fd.as_fd(), c"").ok());
            folder.end_times_change();
        }
        if !folder.confirm_times_set(&times, stats) {
            self.note_touched(dir);
        }
        Some(alone)
    }

    fn set_modification_time(&self, fd: BorrowedFd<'_>, time: Option<Time>) {
        self.credentials.revert();
        let spec = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
        let (now, omit) = (spec(libc::UTIME_NOW), spec(libc::UTIME_OMIT));
        let exact = time.map(|time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ });
        let modified = Timestamps { last_access: omit, last_modification: exact.unwrap_or(now) };
        let path = proc_fd_path(fd);
        if utimensat(CWD, &path, &modified, AtFlags::empty()).is_err() {
            let both = Timestamps { last_access: now, last_modification: now };
            // Who may write, but does not own, may only set both; for others it keeps its time.
            let _ = utimensat(CWD, &path, &both, AtFlags::empty());
        }
    }
}
