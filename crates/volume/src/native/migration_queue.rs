//! Files that wait to be moved to where their rules send them: each from some moments after its last
//! close on, in the order of the closes. It knows numbers and times and touches no file.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;

/// From the last close of a file until it is moved: what is deleted soon after, or opened by the
/// next step, is not moved for nothing.
pub(super) const SETTLE_NANOS: u64 = 2_000_000_000;
/// How long a file waits that could not be moved.
pub(super) const LATER_NANOS: u64 = 30_000_000_000;
/// The longest sleep: a tier may become full meanwhile.
const NAP: Duration = Duration::from_millis(250);

/// A file that waits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueuedMigration {
    pub(super) node: u64,
    /// The references that keep it, and the directories above it, known.
    pub(super) held: Vec<u64>,
}

#[derive(Debug, Default)]
struct Queue {
    /// By the time from which on they may be moved, and the order in which they came.
    waiting: BTreeMap<(u64, u64), QueuedMigration>,
    due: FxHashMap<u64, (u64, u64)>,
    came: u64,
    /// A file is on its way.
    busy: bool,
    over: bool,
}

/// The files of one volume that wait to be moved.
#[derive(Debug, Default)]
pub(super) struct MigrationQueue {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl MigrationQueue {
    /// A file is to be moved from `due` on; gives back what has lost its place in the queue by that.
    pub(super) fn queue_file(&self, due: u64, file: QueuedMigration) -> Option<QueuedMigration> {
        let mut queue = self.queue.lock();
        if queue.over {
            return Some(file);
        }
        queue.came += 1;
        let place = (due, queue.came);
        let before = queue.due.insert(file.node, place);
        let before = before.and_then(|place| queue.waiting.remove(&place));
        queue.waiting.insert(place, file);
        self.changed.notify_all();
        before
    }

    /// The next file that may be moved at this time.
    pub(super) fn next_due(&self, now: u64) -> Option<QueuedMigration> {
        let mut queue = self.queue.lock();
        let first = queue.waiting.first_entry().filter(|first| first.key().0 <= now)?;
        let file = first.remove();
        queue.due.remove(&file.node);
        Some(file)
    }

    /// Sleeps until there may be something to do; `false` when all is over. While something is
    /// done, `end_and_wait` waits.
    pub(super) fn wait_for_work(&self, now: impl Fn() -> u64) -> bool {
        let mut queue = self.queue.lock();
        queue.busy = false;
        self.changed.notify_all();
        if !queue.over {
            match queue.waiting.first_key_value() {
                Some(((due, _), _)) if *due <= now() => {}
                _ => drop(self.changed.wait_for(&mut queue, NAP)),
            }
        }
        queue.busy = !queue.over;
        queue.busy
    }

    /// Nobody moves anything any more.
    pub(super) fn abandon_queue(&self) {
        let mut queue = self.queue.lock();
        (queue.over, queue.busy) = (true, false);
        self.changed.notify_all();
    }

    /// Nothing is moved any more: what waits is for whoever brings files home.
    pub(super) fn is_over(&self) -> bool {
        self.queue.lock().over
    }

    /// Ends all, and waits for what is under way.
    pub(super) fn end_and_wait(&self) {
        let mut queue = self.queue.lock();
        queue.over = true;
        self.changed.notify_all();
        while queue.busy {
            self.changed.wait(&mut queue);
        }
        queue.waiting.clear();
        queue.due.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(node: u64) -> QueuedMigration {
        QueuedMigration { node, held: vec![node] }
    }

    #[test]
    fn they_go_in_the_order_of_their_closes_and_not_before_their_time() {
        let moves = MigrationQueue::default();
        for node in 1..=4 {
            assert_eq!(moves.queue_file(10 + node / 3, file(node)), None);
        }
        // Closed once more: it waits again.
        assert_eq!(moves.queue_file(12, file(1)), Some(file(1)));
        assert_eq!(moves.next_due(9), None);
        let order: Vec<u64> =
            std::iter::from_fn(|| moves.next_due(11)).map(|one| one.node).collect();
        assert_eq!(order, [2, 3, 4]);
        assert_eq!(moves.next_due(12), Some(file(1)));
        assert_eq!(moves.next_due(u64::MAX), None);
    }

    #[test]
    fn the_end_waits_for_what_is_under_way_and_for_no_more() {
        let moves = MigrationQueue::default();
        moves.queue_file(0, file(1));
        assert!(moves.wait_for_work(|| 5), "there is something to do");
        assert_eq!(moves.next_due(5), Some(file(1)));
        moves.queue_file(7, file(2));
        std::thread::scope(|scope| {
            scope.spawn(|| moves.end_and_wait());
            while !moves.is_over() {
                std::thread::yield_now();
            }
            assert!(!moves.wait_for_work(|| 9));
        });
        assert_eq!(moves.next_due(u64::MAX), None);
        assert_eq!(moves.queue_file(0, file(3)), Some(file(3)), "too late");
    }
}
