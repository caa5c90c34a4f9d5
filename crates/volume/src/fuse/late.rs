//! Replies that come later than they could: a directory of this machine behaves as one on a slower
//! storage would, before anybody has paid for it. The work itself is done at once.
//!
//! Only the reply waits, in a queue of its own, so that a slow answer holds no worker back: as many
//! operations are under way at a time as programs have started, as with a real server.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use forebay_model::ByteCount;
use parking_lot::{Condvar, Mutex};

use super::abi::op;
use crate::clock::Clock;

/// What a storage takes longer than this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slowness {
    /// Of each operation on names and attributes, and of each fsync.
    pub latency: Duration,
    /// What all reads and writes together get in a second; `None`: as fast as it goes.
    pub bandwidth: Option<ByteCount>,
}

/// When the reply to the request that this thread serves may go.
#[derive(Debug, Clone, Copy, Default)]
enum Due {
    #[default]
    AtOnce,
    /// Nanoseconds of the clock.
    At(u64),
    /// When the bytes it carries have had their turn.
    AfterItsBytes,
}

thread_local!(static DUE: Cell<Due> = const { Cell::new(Due::AtOnce) });

/// A reply, and the queue of the kernel's that waits for it.
type Reply = (Vec<u8>, Arc<File>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// When each is due, and its number.
    order: BinaryHeap<Reverse<(u64, u64)>>,
    replies: rustc_hash::FxHashMap<u64, Reply>,
    next: u64,
    over: bool,
}

/// Holds replies back.
#[derive(Debug)]
pub(super) struct Late {
    slowness: Slowness,
    clock: Arc<dyn Clock>,
    /// When the bytes promised so far will have passed.
    busy_until: Mutex<u64>,
    queue: Arc<Queue>,
}

impl Late {
    /// Starts the thread that sends replies when they are due.
    pub(super) fn start(slowness: Slowness, clock: Arc<dyn Clock>) -> std::io::Result<Arc<Late>> {
        let queue = Arc::new(Queue::default());
        std::thread::Builder::new().name("forebay-late".into()).spawn({
            let (queue, clock) = (Arc::clone(&queue), Arc::clone(&clock));
            move || send_when_due(&queue, &*clock)
        })?;
        Ok(Arc::new(Late { slowness, clock, busy_until: Mutex::new(0), queue }))
    }

    /// A request begins that carries `bytes` of a file.
    pub(super) fn begin(&self, opcode: u32, bytes: usize) {
        let now = self.clock.nanos();
        DUE.set(match opcode {
            op::READ => Due::AfterItsBytes,
            op::WRITE => Due::At(self.turn(now, bytes)),
            op::RELEASE | op::RELEASEDIR | op::FLUSH | op::STATFS => Due::AtOnce,
            // Whether a file is a terminal, which Python asks of each that it opens, no client asks
            // a server.
            op::IOCTL => Due::AtOnce,
            _ => Due::At(now + self.slowness.latency.as_nanos() as u64),
        });
    }

    /// When `bytes` more will have passed.
    fn turn(&self, now: u64, bytes: usize) -> u64 {
        let Some(rate) = self.slowness.bandwidth else { return now };
        let takes = bytes as u128 * 1_000_000_000 / u128::from(rate.get().max(1));
        let mut busy_until = self.busy_until.lock();
        *busy_until = now.max(*busy_until) + takes as u64;
        *busy_until
    }

    /// Keeps a reply until it is due; false when it may go at once.
    pub(super) fn keep(&self, file: &Arc<File>, parts: &[std::io::IoSlice<'_>]) -> bool {
        let due = match DUE.take() {
            Due::AtOnce => return false,
            Due::At(due) => due,
            Due::AfterItsBytes => {
                let bytes = parts.iter().skip(1).map(|part| part.len()).sum();
                self.turn(self.clock.nanos(), bytes)
            }
        };
        let reply = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let mut waiting = self.queue.waiting.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.order.push(Reverse((due, number)));
        waiting.replies.insert(number, (reply, Arc::clone(file)));
        drop(waiting);
        super::later::held_back(due.saturating_sub(self.clock.nanos()));
        self.queue.changed.notify_one();
        true
    }
}

impl Drop for Late {
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
        let now = clock.nanos();
        if due > now {
            queue.changed.wait_for(&mut waiting, Duration::from_nanos(due - now));
            continue;
        }
        waiting.order.pop();
        let reply = waiting.replies.remove(&number);
        parking_lot::MutexGuard::unlocked(&mut waiting, || {
            // Nobody may wait any more, as in `Device::answer`.
            if let Some((bytes, file)) = reply {
                let _ = (&*file).write(&bytes);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    //! An emulated storage that is faster or slower than asked would mislead who chooses by it.
    use super::*;
    use crate::clock::ManualClock;

    fn late(bandwidth: Option<u64>) -> Late {
        Late {
            slowness: Slowness {
                latency: Duration::from_millis(5),
                bandwidth: bandwidth.map(ByteCount),
            },
            clock: Arc::new(ManualClock::default()),
            busy_until: Mutex::new(0),
            queue: Arc::default(),
        }
    }

    #[test]
    fn bytes_wait_for_their_turn() {
        let late = late(Some(1_000_000));
        assert_eq!(late.turn(0, 500_000), 500_000_000);
        assert_eq!(late.turn(0, 500_000), 1_000_000_000, "after those before them");
        assert_eq!(late.turn(5_000_000_000, 1), 5_000_001_000, "a pause is not saved up");
        assert_eq!(self::late(None).turn(7, 1 << 30), 7);
    }

    #[test]
    fn replies_go_in_the_order_of_their_time() {
        let late = late(Some(1_000_000));
        let (mut reader, writer) = std::io::pipe().expect("pipe");
        let file = Arc::new(File::from(std::os::fd::OwnedFd::from(writer)));
        for (opcode, bytes, text) in [(op::WRITE, 1_000_000, "slow"), (op::LOOKUP, 0, "fast ")] {
            late.begin(opcode, bytes);
            assert!(late.keep(&file, &[std::io::IoSlice::new(text.as_bytes())]));
        }
        for opcode in [op::RELEASE, op::IOCTL] {
            late.begin(opcode, 0);
            assert!(!late.keep(&file, &[]), "nobody waits for it");
        }
        assert!(!late.keep(&file, &[]), "a notification");
        drop(file);
        let (queue, clock) = (Arc::clone(&late.queue), ManualClock::default());
        clock.advance(2_000_000_000);
        drop(late);
        send_when_due(&queue, &clock);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).expect("read");
        assert_eq!(text, "fast slow");
    }
}
