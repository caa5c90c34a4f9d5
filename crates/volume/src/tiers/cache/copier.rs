//! Making copies: room first, bytes under a name of their own, the name of a copy last. A file that
//! does not fit, or changes meanwhile, is read from home; no failure here is anybody's.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};

use forebay_model::FsyncMode;
use rustix::io::Errno;

use super::Tiers;
use super::copy_table::CopyNumber;
use super::stamp::CopyStamp;
use crate::tiers::copy::copy_bytes;
use forebay_os::file_identity::statx_nofollow;

/// Files that may wait to be copied; more are tried again when they are opened next.
const WAITING_MAX: usize = 256;
/// The unit in which file systems give room.
const BLOCK: u64 = 4096;

/// A file to copy.
#[derive(Debug)]
pub(super) struct CopyJob {
    /// What the table promised.
    pub(super) number: CopyNumber,
    pub(super) room: usize,
    /// The original, open to read.
    pub(super) home: OwnedFd,
    /// Its name, for people who look into the room.
    pub(super) name: Vec<u8>,
}

/// What came of a job.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CopyOutcome {
    /// There is a copy now, of so many bytes.
    Whole(u64),
    /// The file changed meanwhile, or nobody wants the copy any more.
    Dropped,
    /// It does not fit, or can't be read or written; why.
    Failed(String),
}

impl Tiers {
    /// Makes the tiers ready to be used by many threads, one of which copies.
    pub(crate) fn start(self) -> Arc<Tiers> {
        let tiers = Arc::new(self);
        if tiers.rules.as_ref().is_some_and(|rules| rules.has_fsync_rule(FsyncMode::Ordered)) {
            tiers.syncing.start_thread();
        }
        if tiers.cache.used {
            let (queue, jobs) = sync_channel::<CopyJob>(WAITING_MAX);
            let weak: Weak<Tiers> = Arc::downgrade(&tiers);
            let work = move || {
                while let Ok(job) = jobs.recv() {
                    let Some(tiers) = weak.upgrade() else { return };
                    tiers.make_cached_copy(job, true);
                }
            };
            // Without the thread, nothing but what was copied before the start has a copy.
            if std::thread::Builder::new().name("forebay-copy".into()).spawn(work).is_ok() {
                let _ = tiers.cache.queue.set(queue);
            }
        }
        tiers
    }

    /// Copies one file. `evict`: older copies may go for it.
    pub(super) fn make_cached_copy(&self, job: CopyJob, evict: bool) -> CopyOutcome {
        let (number, tier) = (job.number, self.rooms[job.room].tier.clone());
        let name = String::from_utf8_lossy(&job.name).into_owned();
        let done = self.try_cached_copy(&job, evict);
        match &done {
            Ok(bytes) => {
                self.cache.files.fetch_add(1, Relaxed);
                self.cache.bytes.fetch_add(*bytes, Relaxed);
                return CopyOutcome::Whole(*bytes);
            }
            Err(_) => {
                let gone = self.cache.table.lock().fail_copy(number);
                gone.iter().for_each(|gone| self.remove_gone_copy(gone));
            }
        }
        let why = match done {
            Err(Some(Errno::NOSPC | Errno::DQUOT)) => {
                format!("{name} is read from its place: tier {tier} has no room for a copy")
            }
            Err(Some(error)) => {
                format!("{name} is read from its place: no copy on tier {tier}: {error}")
            }
            _ => return CopyOutcome::Dropped,
        };
        self.cache.why_not.get_or_init(|| why.clone());
        CopyOutcome::Failed(why)
    }

    /// `Err(None)`: the file changes, or nobody wants the copy.
    fn try_cached_copy(&self, job: &CopyJob, evict: bool) -> Result<u64, Option<Errno>> {
        let before = CopyStamp::wait_until_settled(&job.home)?.ok_or(None)?;
        let room = &self.rooms[job.room];
        let name = room.new_copy_name(&job.name);
        let to = self.reserve_and_create_copy(job, &name, before.size, evict)?;
        let mut copied = copy_bytes(&job.home, &to, &|_| Ok(()));
        if copied == Err(Errno::NOSPC) && evict && self.evict_copies(job.room, before.size) {
            copied = copy_bytes(&job.home, &to, &|_| Ok(()));
        }
        // Bytes that were read while the file changed are no file that ever was.
        let after = CopyStamp::from_statx(&statx_nofollow(job.home.as_fd(), c"")?);
        let size = statx_nofollow(to.as_fd(), c"")?.stx_size;
        if after != before {
            return Err(None);
        }
        copied?;
        if size != before.size {
            return Err(None);
        }
        let mut table = self.cache.table.lock();
        room.finish_copy(&name)?;
        if table.complete_copy(job.number, before) { Ok(size) } else { Err(None) }
    }

    /// Sets room apart and makes the file, both before the run can end between them.
    fn reserve_and_create_copy(
        &self,
        job: &CopyJob,
        name: &std::ffi::CStr,
        size: u64,
        evict: bool,
    ) -> Result<OwnedFd, Option<Errno>> {
        self.sweep_copies();
        let room = &self.rooms[job.room];
        let bytes = size.div_ceil(BLOCK).max(1) * BLOCK;
        let mut table = self.cache.table.lock();
        if !room.reserve_bytes(bytes) {
            let missing = room.missing_bytes(bytes).filter(|_| evict).ok_or(Errno::NOSPC)?;
            let gone = table.evict_idle_copies(job.room, missing).ok_or(Errno::NOSPC)?;
            gone.iter().for_each(|gone| self.remove_gone_copy(gone));
            if !room.reserve_bytes(bytes) {
                return Err(Some(Errno::NOSPC));
            }
        }
        if !table.begin_copy(job.number, name.to_owned(), bytes) {
            room.charge_bytes(bytes, 0);
            return Err(None);
        }
        Ok(room.begin_copy(name)?)
    }

    /// On a tier without a capacity, the file system says when it is full: older copies go then.
    fn evict_copies(&self, room: usize, bytes: u64) -> bool {
        let gone = self.cache.table.lock().evict_idle_copies(room, bytes);
        gone.iter().flatten().for_each(|gone| self.remove_gone_copy(gone));
        gone.is_some()
    }
}
