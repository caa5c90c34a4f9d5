//! Tasks that are ready and wait for a slot, by kind, each kind in the order of becoming ready, or in
//! the order in which an engine took them: few engines take whatever was ready first, and the room
//! that files take depends on it.

use crate::policies::{QueueHead, QueueOrder};
use forebay_model::Workload;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedTask {
    pub(super) run: u32,
    pub(super) ready: f64,
    turn: u64,
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct ReadyQueue {
    queues: Vec<VecDeque<QueuedTask>>,
    low: Vec<bool>,
    /// Tasks in one pipeline.
    tasks: u32,
    ordered: bool,
    turns: u64,
    /// The heads, as policies see them.
    heads: Vec<QueueHead>,
}

impl ReadyQueue {
    pub(super) fn new(low: Vec<bool>, workload: &Workload, order: QueueOrder) -> Self {
        let tasks = workload.tasks.len() as u32;
        let ordered = workload.ordered && order == QueueOrder::Engine;
        let queues = vec![VecDeque::new(); low.len()];
        Self { queues, low, tasks, ordered, turns: 0, heads: Vec::new() }
    }

    pub(super) fn enqueue_task(&mut self, kind: u32, run: u32, ready: f64) {
        let turn = self.next_turn(run);
        self.insert_task(kind, QueuedTask { run, ready, turn });
    }

    /// A task that begins again stands behind all that wait by now: engines submit it anew.
    pub(super) fn requeue_task(&mut self, kind: u32, run: u32, ready: f64) {
        let last = self.queues.iter().filter_map(|queue| Some(queue.back()?.turn)).max();
        let turn = self.next_turn(run).max(last.map_or(0, |last| last + 1));
        self.insert_task(kind, QueuedTask { run, ready, turn });
    }

    fn insert_task(&mut self, kind: u32, task: QueuedTask) {
        let QueuedTask { run, turn, .. } = task;
        let queue = &mut self.queues[kind as usize];
        let place = queue.partition_point(|waiter| waiter.turn < turn);
        queue.insert(place, task);
        if place > 0 {
            return;
        }
        let head = self.queue_head(kind, run, turn);
        match self.heads.iter_mut().find(|head| head.kind == kind) {
            Some(second) => *second = head,
            None => self.heads.push(head),
        }
    }

    fn next_turn(&mut self, run: u32) -> u64 {
        self.turns += 1;
        match self.ordered {
            // Pipelines take turns.
            true => u64::from(run % self.tasks) << 32 | u64::from(run / self.tasks),
            false => self.turns,
        }
    }

    fn queue_head(&self, kind: u32, run: u32, turn: u64) -> QueueHead {
        QueueHead { kind, pipeline: run / self.tasks, turn, low: self.low[kind as usize] }
    }

    pub(super) fn heads(&self) -> &[QueueHead] {
        &self.heads
    }

    pub(super) fn peek_first(&self, kind: u32) -> Option<QueuedTask> {
        self.queues[kind as usize].front().copied()
    }

    pub(super) fn dequeue_first(&mut self, kind: u32) -> Option<QueuedTask> {
        let taken = self.queues[kind as usize].pop_front()?;
        let place = self.heads.iter().position(|head| head.kind == kind)?;
        match self.peek_first(kind) {
            Some(next) => self.heads[place] = self.queue_head(kind, next.run, next.turn),
            None => {
                self.heads.swap_remove(place);
            }
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, what a plan says of room is that of another engine.
    use super::*;
    use forebay_model::workload::{Task, TaskKindId};

    /// Three tasks of one pipeline become ready from the last to the first; the middle one is of a
    /// kind of its own. Who goes first?
    fn taken(ordered: bool, order: QueueOrder) -> Vec<u32> {
        let task = Task { kind: TaskKindId(0), key: None, after: vec![], steps: vec![] };
        let workload = Workload { tasks: vec![task; 3], ordered, ..Workload::default() };
        let mut waiting = ReadyQueue::new(vec![false; 2], &workload, order);
        for (ready, run) in [2, 1, 0].into_iter().enumerate() {
            waiting.enqueue_task(u32::from(run == 1), run, ready as f64);
        }
        drained(&mut waiting)
    }

    /// All that wait, as they are taken.
    fn drained(waiting: &mut ReadyQueue) -> Vec<u32> {
        let mut taken = Vec::new();
        while let Some(next) = waiting.heads().iter().min_by_key(|head| head.turn).copied() {
            taken.push(waiting.dequeue_first(next.kind).expect("it has a head").run);
        }
        taken
    }

    #[test]
    fn who_begins_again_stands_behind_all_that_wait() {
        let task = Task { kind: TaskKindId(0), key: None, after: vec![], steps: vec![] };
        let workload = Workload { tasks: vec![task; 4], ordered: true, ..Workload::default() };
        let mut waiting = ReadyQueue::new(vec![false; 2], &workload, QueueOrder::Engine);
        for run in [1, 2] {
            waiting.enqueue_task(run % 2, run, 0.0);
        }
        waiting.requeue_task(0, 0, 5.0);
        waiting.enqueue_task(1, 3, 6.0);
        assert_eq!(drained(&mut waiting), [1, 2, 0, 3]);
    }

    #[test]
    fn who_was_ready_first_is_first_unless_an_engine_chose_otherwise() {
        assert_eq!(taken(false, QueueOrder::Engine), [2, 1, 0]);
        assert_eq!(taken(true, QueueOrder::Engine), [0, 1, 2]);
        assert_eq!(taken(true, QueueOrder::Arrival), [2, 1, 0]);
    }
}
