//! Syncs that nobody waits for (`fsync = "ordered"`): a thread makes bytes durable one file after
//! another, in the order in which programs asked, and begins at once. A name that a file gets
//! meanwhile waits for its bytes, so that it is never the safer of the two.
//!
//! It knows no files: what a sync does is the business of whoever hands it in.

mod naming;

use std::collections::VecDeque;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use rustix::io::Errno;

use super::left_behind_files::LeftBehindFile;

/// Files that wait at most: each holds a descriptor. Who comes then waits for room.
const WAITING_MAX: usize = 512;

/// What is made durable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum SyncTarget {
    /// The body with this name in this room.
    Body(usize, CString),
    /// The bytes that this packed file has beside the log, and the log.
    PackedBody(u64),
    /// The log of all packed files, and the names in this directory.
    PackedDir(u64),
    /// The log of all packed files.
    Log,
}

/// One sync.
pub(crate) struct SyncJob {
    pub(crate) which: SyncTarget,
    /// Names are made durable, too: one without them that waits does not do for it.
    pub(crate) with_names: bool,
    /// For a message.
    pub(crate) path: Vec<u8>,
    pub(crate) run: Box<dyn FnOnce() -> Result<(), Errno> + Send>,
}

/// The syncs of one volume.
#[derive(Default)]
pub(super) struct SyncQueue {
    queue: Mutex<Queue>,
    /// There is something to do.
    woken: Condvar,
    /// Something was done.
    done: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<SyncJob>,
    busy: Option<SyncTarget>,
    /// How many were ever taken, and how many of them are done.
    taken: u64,
    carried: u64,
    /// The thread is there.
    running: bool,
    /// A failure that no program has been told yet.
    untold: Option<Errno>,
    failed: Vec<LeftBehindFile>,
    /// What could not be made durable, and has not been since.
    lost: FxHashMap<SyncTarget, FailedSync>,
}

#[derive(Debug, Clone, Copy)]
struct FailedSync {
    error: Errno,
    /// Syncs that had been taken by then: their success says nothing of what was lost.
    taken: u64,
}

impl Queue {
    /// One that waits does what this one would, for bytes that are written now, too.
    fn has_equivalent_sync(&self, sync: &SyncJob) -> bool {
        let does =
            |other: &SyncJob| other.which == sync.which && (other.with_names || !sync.with_names);
        // After a failure only one that was asked for later counts.
        !self.lost.contains_key(&sync.which) && self.waiting.iter().any(does)
    }

    /// Notes what came of the one that was taken first of all that were not carried out.
    fn note_result(&mut self, which: SyncTarget, path: Vec<u8>, done: Result<(), Errno>) {
        match done {
            Ok(()) => {
                if self.lost.get(&which).is_some_and(|lost| lost.taken <= self.carried) {
                    self.lost.remove(&which);
                }
            }
            Err(error) => {
                tracing::error!("making {} durable: {error}", String::from_utf8_lossy(&path));
                let path = PathBuf::from(OsString::from_vec(path));
                self.failed.push(LeftBehindFile { path, why: error.to_string() });
                self.untold = Some(error);
                self.lost.insert(which, FailedSync { error, taken: self.taken });
            }
        }
        self.carried += 1;
    }

    fn take_untold_error(&mut self) -> Result<(), Errno> {
        self.untold.take().map_or(Ok(()), Err)
    }
}

impl std::fmt::Debug for SyncQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Syncing").field("waiting", &self.queue.lock().waiting.len()).finish()
    }
}

impl SyncQueue {
    /// Starts the thread; without it, whoever asks for a sync waits for it.
    pub(super) fn start_thread(self: &Arc<Self>) {
        let all = Arc::clone(self);
        let work = move || all.run_jobs();
        let spawned = std::thread::Builder::new().name("forebay-sync".into()).spawn(work);
        self.queue.lock().running = spawned.is_ok();
    }

    fn run_jobs(&self) {
        let mut queue = self.queue.lock();
        loop {
            let Some(SyncJob { which, path, run, .. }) = queue.waiting.pop_front() else {
                self.woken.wait(&mut queue);
                continue;
            };
            queue.busy = Some(which.clone());
            let done = MutexGuard::unlocked(&mut queue, run);
            queue.busy = None;
            queue.note_result(which, path, done);
            self.done.notify_all();
        }
    }

    /// Has a sync done soon, after all that were asked for before.
    ///
    /// # Errors
    /// An earlier one failed, which nobody was told yet; this one is done all the same.
    pub(super) fn enqueue(&self, sync: SyncJob) -> Result<(), Errno> {
        let mut queue = self.queue.lock();
        if !queue.running {
            drop(queue);
            return (sync.run)();
        }
        if queue.has_equivalent_sync(&sync) {
            return queue.take_untold_error();
        }
        while queue.waiting.len() >= WAITING_MAX {
            self.done.wait(&mut queue);
        }
        queue.waiting.push_back(sync);
        queue.taken += 1;
        self.woken.notify_one();
        queue.take_untold_error()
    }

    /// Waits until the bytes of a file are durable for which that was asked.
    ///
    /// # Errors
    /// They could not be made so, and have not been since; or those of another file could not, which
    /// nobody was told yet.
    pub(super) fn wait_until_durable(&self, which: &SyncTarget) -> Result<(), Errno> {
        let mut queue = self.queue.lock();
        while queue.busy.as_ref() == Some(which)
            || queue.waiting.iter().any(|other| other.which == *which)
        {
            self.done.wait(&mut queue);
        }
        let told = queue.take_untold_error();
        queue.lost.get(which).map_or(told, |lost| Err(lost.error))
    }

    /// Waits until all is durable for which it was asked so far.
    ///
    /// # Errors
    /// Something could not be made so, which nobody was told yet.
    pub(super) fn wait_until_all_durable(&self) -> Result<(), Errno> {
        let mut queue = self.queue.lock();
        let so_far = queue.taken;
        while queue.carried < so_far {
            self.done.wait(&mut queue);
        }
        queue.take_untold_error()
    }

    /// Waits until all is done; tells what failed.
    pub(super) fn finish_all(&self) -> Vec<LeftBehindFile> {
        let mut queue = self.queue.lock();
        while queue.running && (queue.busy.is_some() || !queue.waiting.is_empty()) {
            self.done.wait(&mut queue);
        }
        std::mem::take(&mut queue.failed)
    }

    fn is_idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.busy.is_none()
            && queue.waiting.is_empty()
            && queue.untold.is_none()
            && queue.lost.is_empty()
    }
}

#[cfg(test)]
mod tests;
