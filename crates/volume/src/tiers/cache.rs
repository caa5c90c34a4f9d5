//! Copies of files in place on faster tiers, from which their readers are served. The file in place
//! stays the truth: a copy is whole or not there, is given only while the original has the size and
//! times that it had before and after it was copied, and goes when the run ends.
//!
//! It knows no kernel; which handle reads what is for `native::cached_reads`.

mod cache_usage;
mod copier;
mod copy_lease;
mod copy_table;
mod stamp;
mod warm;

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, OnceLock};

use forebay_model::{PrefetchMode, Rules};
use parking_lot::Mutex;
use rustix::fs::{OFlags, Statx};
use rustix::io::Errno;

use super::Tiers;
use copier::CopyJob;
pub(crate) use copy_lease::CopyLease;
use copy_table::{CopyLookup, CopyTable, EvictedCopy};
use forebay_os::file_identity::{FileIdentity, reopen_with_flags};
use stamp::CopyStamp;
pub use warm::CacheWarmReport;

/// What the tiers of a directory know of copies.
#[derive(Debug, Default)]
pub(super) struct CopyCache {
    /// Some rule has a cache.
    used: bool,
    /// Some rule copies when readers have gone.
    late: bool,
    table: Mutex<CopyTable>,
    /// Copies without a place in the table, whose files are to be removed: a request is served with
    /// its caller's rights, which are not enough.
    litter: Mutex<Vec<EvictedCopy>>,
    /// To the thread that copies.
    queue: OnceLock<SyncSender<CopyJob>>,
    hits: AtomicU64,
    misses: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    why_not: OnceLock<String>,
}

impl CopyCache {
    pub(super) fn for_rules(rules: &Rules) -> CopyCache {
        let used = !rules.cache_tiers().is_empty();
        CopyCache { used, late: rules.has_cache_rule(PrefetchMode::Never), ..CopyCache::default() }
    }
}

impl Tiers {
    /// Whether anything is ever served from a copy.
    pub(crate) fn has_cache(&self) -> bool {
        self.cache.used
    }

    /// Somebody opens a file in place to read it, and nobody has it open: gives the copy, if there
    /// is one of the file as it is. Else sees to it that there will be, as its rule says.
    pub(crate) fn lend_copy(
        self: &Arc<Self>,
        path: &[u8],
        home: &OwnedFd,
        stat: &Statx,
    ) -> Option<Arc<CopyLease>> {
        let (room, ahead) = self.cache_placement(path)?;
        let file = FileIdentity::from_statx(stat);
        let stamp = CopyStamp::from_statx(stat);
        let found = self.cache.table.lock().open_copy(file, &stamp);
        match found {
            CopyLookup::Here { number, room, name } => {
                match CopyLease::open(self, number, room, &name, stamp) {
                    Ok(lent) if lent.stat.stx_size == stat.stx_size => {
                        self.cache.hits.fetch_add(1, Relaxed);
                        return Some(Arc::new(lent));
                    }
                    // Somebody took it away, or cut it, from outside.
                    Ok(_) | Err(Errno::NOENT) => self.forget_copy(file),
                    Err(_) => {}
                }
            }
            CopyLookup::Coming => {}
            CopyLookup::Absent(gone) => {
                self.cache.litter.lock().extend(gone);
                if ahead != PrefetchMode::Never {
                    self.queue_copy(path, room, home, file);
                }
            }
        }
        self.cache.misses.fetch_add(1, Relaxed);
        None
    }

    /// Counts one more who reads a file as those do who have it open: from its copy, or from home.
    pub(crate) fn count_joined_reader(&self, path: &[u8], copy: bool) {
        if copy {
            self.cache.hits.fetch_add(1, Relaxed);
        } else if self.cache_placement(path).is_some() {
            self.cache.misses.fetch_add(1, Relaxed);
        }
    }

    /// The last who read a file in place has closed it: the moment to copy it, if its rule copies
    /// nothing ahead of its use.
    pub(crate) fn copy_after_close(
        &self,
        path: impl FnOnce() -> Vec<u8>,
        home: &OwnedFd,
        file: FileIdentity,
    ) {
        if !self.cache.late || self.cache.table.lock().has_copy(file) {
            return;
        }
        let path = path();
        if let Some((room, PrefetchMode::Never)) = self.cache_placement(&path) {
            self.queue_copy(&path, room, home, file);
        }
    }

    /// A file changes: no copy of what it was is given from now on.
    pub(crate) fn forget_copy(&self, file: FileIdentity) {
        if self.cache.used {
            let gone = self.cache.table.lock().forget_file(file);
            self.cache.litter.lock().extend(gone);
        }
    }

    /// Removes what is left of copies that are not given any more, and makes room where files that
    /// live on a tier have come to need it.
    pub(crate) fn sweep_copies(&self) {
        for (number, room) in self.rooms.iter().enumerate().filter(|_| self.cache.used) {
            let missing = room.missing_bytes(0).filter(|missing| *missing > 0);
            let gone = missing
                .and_then(|missing| self.cache.table.lock().evict_idle_copies(number, missing));
            self.cache.litter.lock().extend(gone.into_iter().flatten());
        }
        let litter = std::mem::take(&mut *self.cache.litter.lock());
        litter.into_iter().for_each(|gone| self.remove_gone_copy(&gone));
    }

    /// The run is over, and with it its copies.
    pub(super) fn end_cache(&self) {
        let gone = self.cache.table.lock().forget_all_files();
        gone.iter().for_each(|gone| self.remove_gone_copy(gone));
        self.sweep_copies();
    }

    fn remove_gone_copy(&self, gone: &EvictedCopy) {
        let room = &self.rooms[gone.room];
        room.remove_copy(&gone.name);
        room.charge_bytes(gone.bytes, 0);
    }

    /// The room for copies of the file of this path, and when they are made.
    fn cache_placement(&self, path: &[u8]) -> Option<(usize, PrefetchMode)> {
        let cache = self.rule_for_path(path)?.cache.as_ref()?;
        let room = self.rooms.iter().position(|room| room.tier == cache.tier && room.writable);
        Some((room?, cache.ahead))
    }

    /// Hands a file to the thread that copies, unless it has it already, or more than enough.
    fn queue_copy(&self, path: &[u8], room: usize, home: &OwnedFd, file: FileIdentity) {
        let Some(queue) = self.cache.queue.get() else { return };
        let Some(number) = self.cache.table.lock().promise_copy(file, room) else { return };
        // A description of its own: locks end with the caller's.
        let home = reopen_with_flags(home.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK);
        let name = Path::new(OsStr::from_bytes(path)).file_name().unwrap_or_default();
        let job = home.map(|home| CopyJob { number, room, home, name: name.as_bytes().to_vec() });
        if !job.is_ok_and(|job| queue.try_send(job).is_ok()) {
            self.cache.table.lock().fail_copy(number);
        }
    }
}
