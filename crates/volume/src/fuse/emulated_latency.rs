//! Replies that come later than they could: a directory of this machine behaves as one on another
//! storage would, before anybody has paid for it. The work itself is done at once.
//!
//! Only the reply waits, in a queue of its own, so that a slow answer holds no worker back: as many
//! operations are under way at a time as programs have started, as with a real server. When it is
//! due is for [`shape`] to say, from the numbers that a simulation prices with, too.

mod limit;
mod shape;
mod shared_moments;
mod storage_demand;
mod workers;
mod written;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use forebay_model::StorageProfile;
use parking_lot::{Condvar, Mutex};

use super::abi::InHeader;
use crate::native::TRUST_WATCHED;
use forebay_os::clock::{Clock, MachineClock};
use shape::LatencyModel;
use shared_moments::SharedMoments;
pub(super) use storage_demand::StorageDemand;
use storage_demand::parse_reply;

/// A storage to be emulated.
#[derive(Debug, Clone)]
pub struct EmulatedStorage {
    profile: StorageProfile,
    board: Option<Arc<SharedMoments>>,
}

impl EmulatedStorage {
    /// One that can do what the profile says. All that name the same file as their server share what
    /// the whole storage has.
    ///
    /// # Errors
    /// When the file can't be opened or made.
    pub fn new(profile: StorageProfile, server: Option<&Path>) -> std::io::Result<EmulatedStorage> {
        let board = server.map(SharedMoments::open).transpose()?.map(Arc::new);
        Ok(EmulatedStorage { profile, board })
    }

    /// Its client collects what programs write until they close the file, sync it, or have written
    /// much, as those of NFS and Lustre do. Where several mounts show one volume, each would go on
    /// believing the sizes that it knows.
    fn collects_writes(&self) -> bool {
        self.board.is_none()
    }
}

/// A reply, and the queue of the kernel's that waits for it.
type DelayedReply = (Vec<u8>, Arc<File>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<PendingReplies>,
    changed: Condvar,
    /// Nanoseconds that a thread takes to wake up here, lately.
    waking: AtomicU64,
}

/// What goes on in a stream may be so much too early, since what follows waits for it: a sleep for
/// each piece of a fast stream would cost more than the piece.
const DEBT: u64 = 300_000;

/// No machine takes longer to wake a thread unless it is busy with other things, whose time is not
/// the storage's to give back.
const WAKING_MOST: u64 = 200_000;

impl Queue {
    /// Three threads wake between a program's call and its return: the one that takes the request,
    /// the one that sends the reply, and the program. The second one is watched; the others, which
    /// no timer wakes, are believed to take half as long each.
    fn wakeup_nanos(&self) -> u64 {
        self.waking.load(Relaxed)
    }

    fn record_wakeup(&self, late: u64) {
        let late = late.min(WAKING_MOST);
        self.waking.store((self.wakeup_nanos() * 15 + late) / 16, Relaxed);
    }
}

#[derive(Debug, Default)]
struct PendingReplies {
    /// When each is due, and its number.
    order: BinaryHeap<Reverse<(u64, u64)>>,
    replies: rustc_hash::FxHashMap<u64, DelayedReply>,
    next: u64,
    over: bool,
}

/// Holds replies back.
#[derive(Debug)]
pub(super) struct ReplyDelayer {
    clock: Arc<dyn Clock>,
    shape: Mutex<LatencyModel>,
    /// How long its client believes names and attributes.
    believes: Option<Duration>,
    /// Closing a file takes time.
    pub(super) closes: bool,
    /// See [`EmulatedStorage::collects_writes`].
    pub(super) collects: bool,
    queue: Arc<Queue>,
}

impl ReplyDelayer {
    /// Starts the thread that sends replies when they are due.
    pub(super) fn start(emulated: &EmulatedStorage) -> std::io::Result<Arc<ReplyDelayer>> {
        // Mounts of one server must agree on what time it is.
        let mut late =
            ReplyDelayer::new(&emulated.profile, Arc::new(MachineClock), emulated.board.clone());
        late.collects = emulated.collects_writes();
        let (queue, clock) = (Arc::clone(&late.queue), Arc::clone(&late.clock));
        std::thread::Builder::new().name("forebay-late".into()).spawn(move || {
            // Timers of ordinary threads are 50 us late, which is a twentieth of a millisecond.
            // SAFETY: a number for this thread alone.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
            send_when_due(&queue, &*clock);
        })?;
        Ok(Arc::new(late))
    }

    fn new(
        profile: &StorageProfile,
        clock: Arc<dyn Clock>,
        board: Option<Arc<SharedMoments>>,
    ) -> ReplyDelayer {
        let seconds = |time: forebay_model::Seconds| Duration::try_from_secs_f64(time.get()).ok();
        ReplyDelayer {
            clock,
            believes: profile.attributes_for.and_then(seconds),
            closes: shape::close_seconds(profile) > 0.0,
            collects: false,
            shape: Mutex::new(LatencyModel::new(
                profile,
                written::half_of_memory(),
                board.as_ref(),
            )),
            queue: Arc::default(),
        }
    }

    /// How long what may be believed for so long here is believed by its client: where nobody else
    /// changes anything, as long as the profile says, or until it is changed.
    pub(super) fn client_timeout(&self, here: Duration) -> Duration {
        match self.believes {
            _ if here.is_zero() => here,
            Some(time) if self.collects => time,
            Some(time) => here.min(time),
            None if self.collects => TRUST_WATCHED,
            None => here,
        }
    }

    /// A request begins. Gives what it asks for, if anybody waits for the reply.
    pub(super) fn begin_request(&self, header: &InHeader, body: &[u8]) -> Option<StorageDemand> {
        let called = self.clock.elapsed_nanos().saturating_sub(self.queue.wakeup_nanos() / 2);
        StorageDemand::from_request(header, body, called)
    }

    /// Keeps the reply to a request until it is due, and gives the nanoseconds until then; `None`
    /// when it may go at once.
    pub(super) fn delay_reply(
        &self,
        asked: &StorageDemand,
        file: &Arc<File>,
        parts: &[std::io::IoSlice<'_>],
    ) -> Option<u64> {
        let (due, awaited) = self.shape.lock().reply_due(asked, &parse_reply(asked.opcode, parts));
        let early = if awaited { DEBT } else { self.queue.wakeup_nanos() / 2 };
        if due <= self.clock.elapsed_nanos() + early {
            return None;
        }
        let due = due - self.queue.wakeup_nanos() / 2;
        let reply = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let mut waiting = self.queue.waiting.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.order.push(Reverse((due, number)));
        waiting.replies.insert(number, (reply, Arc::clone(file)));
        drop(waiting);
        let held_back = due.saturating_sub(self.clock.elapsed_nanos());
        self.queue.changed.notify_one();
        Some(held_back)
    }
}

impl Drop for ReplyDelayer {
    fn drop(&mut self) {
        self.queue.waiting.lock().over = true;
        self.queue.changed.notify_one();
    }
}

fn send_when_due(queue: &Queue, clock: &dyn Clock) {
    let mut waiting = queue.waiting.lock();
    loop {
        let Some(Reverse((due, number))) = waiting.order.peek().copied() else {
            if waiting.over {
                return;
            }
            queue.changed.wait(&mut waiting);
            continue;
        };
        let now = clock.elapsed_nanos();
        let sleep = due.saturating_sub(now).saturating_sub(queue.wakeup_nanos());
        if sleep > 0 {
            let waited = queue.changed.wait_for(&mut waiting, Duration::from_nanos(sleep));
            if waited.timed_out() {
                queue.record_wakeup(clock.elapsed_nanos().saturating_sub(now + sleep));
            }
            continue;
        }
        waiting.order.pop();
        let reply = waiting.replies.remove(&number);
        parking_lot::MutexGuard::unlocked(&mut waiting, || {
            if let Some((bytes, file)) = reply {
                // Nobody may wait any more, as in `Device::send_reply`.
                let _ = (&*file).write(&bytes);
            }
        });
    }
}

#[cfg(test)]
mod tests;
