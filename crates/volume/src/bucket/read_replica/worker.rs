//! Looks at the log every now and then, changes the local tree as it says, and tells the kernel what
//! to forget.

use std::sync::{Arc, Weak};

use rustix::io::Errno;

use super::super::request::Bucket;
use super::local_tree::{Changes, LocalTree};
use super::tail::Tail;
use super::touched::TouchedEntries;
use super::{EvictedFiles, ReadReplica};
use crate::backend::TreeServer;
use forebay_objstore::RequestError;
use forebay_os::clock::{Clock, MachineClock};

/// Pauses that a look may be late before segments may have come and gone meanwhile: this machine
/// slept, say.
const LATE: u32 = 4;

#[derive(Debug)]
pub(super) struct ReplicaWorker {
    follow: Arc<ReadReplica>,
    bucket: Arc<dyn Bucket>,
    tail: Tail,
    /// Known once it serves.
    pub(super) server: Option<Weak<dyn TreeServer>>,
    /// When the last look was, in nanoseconds of the machine's clock.
    looked: u64,
}

/// What a thread is woken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WakeReason {
    /// Looks that were asked for until then.
    asked: u64,
    is_missing: bool,
}

impl ReplicaWorker {
    pub(super) fn with_tail(
        follow: Arc<ReadReplica>,
        bucket: Arc<dyn Bucket>,
        tail: Tail,
    ) -> ReplicaWorker {
        ReplicaWorker { follow, bucket, tail, server: None, looked: MachineClock.elapsed_nanos() }
    }

    pub(super) fn run_until_over(&mut self) {
        while let Some(WakeReason { asked, is_missing }) = self.wait_for_work() {
            let late = u128::from(MachineClock.elapsed_nanos() - self.looked);
            let is_late = late > self.follow.every.as_nanos() * u128::from(LATE);
            let mut changes = Changes::default();
            let looked = self.poll_and_apply(is_missing || is_late, &mut changes);
            self.looked = MachineClock.elapsed_nanos();
            match looked {
                Ok(()) => self.follow.health.note_success(),
                Err(failed) => {
                    tracing::warn!("following {}: {failed}", self.follow.url);
                    self.follow.health.note_failure(&failed);
                }
            }
            let mut call = self.follow.call.lock();
            call.done = asked;
            self.follow.called.notify_all();
            drop(call);
            // Nobody who waits is kept from answering the kernel by what the kernel is told.
            self.invalidate_kernel_cache(&changes);
        }
    }

    /// Until it is time, or somebody asks; `None`: it is over.
    fn wait_for_work(&self) -> Option<WakeReason> {
        let mut call = self.follow.call.lock();
        if call.asked == call.done && !call.is_over {
            self.follow.called.wait_for(&mut call, self.follow.every);
        }
        let wish = WakeReason { asked: call.asked, is_missing: call.asked > call.done };
        (!call.is_over).then_some(wish)
    }

    /// One look, and what came of it is shown.
    pub(super) fn poll_and_apply(
        &mut self,
        is_missing: bool,
        changes: &mut Changes,
    ) -> Result<(), RequestError> {
        let looked = self.tail.poll_log(&*self.bucket, is_missing);
        if looked.is_ok() {
            self.follow.bodies.mark_reachable();
        }
        let follow = Arc::clone(&self.follow);
        let mut local = follow.shown.lock();
        if follow.call.lock().is_over {
            return looked;
        }
        let shown = self.apply_touched(&mut local, changes);
        follow
            .bodies
            .apply_moves_and_retire(std::mem::take(&mut changes.moved), changes.retired.drain(..));
        looked.and(shown.map_err(|error| RequestError::from(std::io::Error::from(error))))
    }

    fn apply_touched(&mut self, shown: &mut LocalTree, changes: &mut Changes) -> Result<(), Errno> {
        // What has no end is not shown: what was shown before stays.
        if self.tail.touched.is_empty() || self.tail.tree().is_knotted() {
            return Ok(());
        }
        let bodies: &EvictedFiles = &self.follow.bodies;
        let mut learn = |one| bodies.add_evicted_files([one]);
        let (tree, touched) = (self.tail.tree(), &self.tail.touched);
        match shown.apply_tree(tree, touched, &mut learn, changes) {
            Ok(()) => {}
            // With room it goes on where it was.
            Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::MFILE | Errno::NFILE)) => {
                self.tail.touched.is_torn = true;
                return Err(error);
            }
            Err(error) => {
                tracing::warn!("{}: the local tree is made anew: {error}", self.follow.url);
                shown.remove_whole_tree(changes)?;
                shown.fill_whole_tree(tree, &mut learn, changes)?;
            }
        }
        self.tail.touched = TouchedEntries::default();
        Ok(())
    }

    fn invalidate_kernel_cache(&self, changes: &Changes) {
        if let Some(server) = self.server.as_ref().and_then(Weak::upgrade) {
            server.invalidate_in_kernel(&changes.names, &changes.files);
        }
    }
}
