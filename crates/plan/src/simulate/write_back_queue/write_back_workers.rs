//! Who carries files home: one for each pipeline on each node, one set of files after the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A pipeline's, on a node.
pub(super) type WorkerId = (u32, u32);

/// What a carrier has in hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerLoad {
    /// The set, as a place among those that are held.
    pub(super) held: u32,
    pub(super) flow: u32,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, Default)]
struct WorkerState {
    load: Option<WorkerLoad>,
    /// Sets that wait, each with the moment before which it is not carried, in order.
    queue: VecDeque<(u32, f64)>,
    /// Its entry among those that are free.
    due: Option<u64>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteBackWorkers {
    all: BTreeMap<WorkerId, WorkerState>,
    /// Those with empty hands and a queue, by the moment when its first is due: as bits, which have
    /// the same order.
    free: BTreeSet<(u64, WorkerId)>,
    /// Who has a set in the queue or in hand.
    of: BTreeMap<u32, WorkerId>,
    by_flow: BTreeMap<u32, WorkerId>,
}

impl WriteBackWorkers {
    /// Nothing waits, nobody has anything in hand.
    pub(super) fn are_idle(&self) -> bool {
        self.of.is_empty()
    }

    /// Whether one of these sets is on its way.
    pub(super) fn carries_any_of(&self, sets: std::ops::Range<u32>) -> bool {
        self.of.range(sets).next().is_some()
    }

    /// When somebody whose hands are empty has something to do.
    pub(super) fn next_due_time(&self) -> f64 {
        self.free.first().map_or(f64::INFINITY, |(due, _)| f64::from_bits(*due))
    }

    /// A set waits to be carried, from this moment on; those that are there keep their turn.
    pub(super) fn enqueue_set(&mut self, by: WorkerId, held: u32, due: f64) {
        if self.of.insert(held, by).is_none() {
            self.all.entry(by).or_default().queue.push_back((held, due));
            self.update_due_index(by);
        }
    }

    /// All that waits need not wait longer.
    pub(super) fn expedite_pipeline(&mut self, pipeline: u32, now: f64) {
        let of: Vec<WorkerId> =
            self.all.range((pipeline, 0)..=(pipeline, u32::MAX)).map(|(by, _)| *by).collect();
        for by in of {
            for (_, due) in self.all.entry(by).or_default().queue.iter_mut() {
                *due = due.min(now);
            }
            self.update_due_index(by);
        }
    }

    /// The next that somebody can carry by now.
    pub(super) fn take_next_due(&mut self, now: f64) -> Option<(WorkerId, u32)> {
        let (due, by) = *self.free.first()?;
        if f64::from_bits(due) > now {
            return None;
        }
        let (held, _) = self.all.get_mut(&by)?.queue.pop_front()?;
        self.of.remove(&held);
        self.update_due_index(by);
        Some((by, held))
    }

    /// Sets that wait for somebody.
    pub(super) fn queued_sets(&self, by: WorkerId) -> impl Iterator<Item = u32> + '_ {
        self.all.get(&by).into_iter().flat_map(|state| state.queue.iter().map(|(held, _)| *held))
    }

    pub(super) fn start_carrying(&mut self, by: WorkerId, load: WorkerLoad) {
        self.of.insert(load.held, by);
        self.by_flow.insert(load.flow, by);
        self.all.entry(by).or_default().load = Some(load);
        self.update_due_index(by);
    }

    /// What this flow carried.
    pub(super) fn finish_carrying(&mut self, flow: u32) -> Option<(WorkerId, WorkerLoad)> {
        let by = self.by_flow.remove(&flow)?;
        let load = self.all.get_mut(&by)?.load.take()?;
        self.of.remove(&load.held);
        self.update_due_index(by);
        Some((by, load))
    }

    /// Takes a set out: `None`, it was not on its way; `Some(None)`, nobody had it in hand.
    pub(super) fn cancel_set(&mut self, held: u32) -> Option<Option<WorkerLoad>> {
        let by = *self.of.get(&held)?;
        let hands = self.all.get_mut(&by)?;
        if let Some(load) = hands.load.filter(|load| load.held == held) {
            return Some(self.finish_carrying(load.flow).map(|(_, load)| load));
        }
        hands.queue.retain(|(waits, _)| *waits != held);
        self.of.remove(&held);
        self.update_due_index(by);
        Some(None)
    }

    /// Says anew whether a carrier is free, and since or until when.
    fn update_due_index(&mut self, by: WorkerId) {
        let Some(hands) = self.all.get_mut(&by) else { return };
        let front = hands.queue.front().filter(|_| hands.load.is_none());
        let due = front.map(|(_, due)| due.to_bits());
        if let Some(old) = std::mem::replace(&mut hands.due, due) {
            self.free.remove(&(old, by));
        }
        if let Some(due) = due {
            self.free.insert((due, by));
        }
    }
}
