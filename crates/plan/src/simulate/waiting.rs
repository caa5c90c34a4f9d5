//! Tasks that are ready and wait for a slot, by kind, each kind in the order of becoming ready.

use crate::policies::Head;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) run: u32,
    pub(super) ready: f64,
    turn: u64,
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    queues: Vec<VecDeque<Waiter>>,
    low: Vec<bool>,
    /// Tasks in one pipeline.
    tasks: u32,
    turns: u64,
    /// The heads, as policies see them.
    heads: Vec<Head>,
}

impl Waiting {
    pub(super) fn new(low: Vec<bool>, tasks: u32) -> Self {
        let queues = vec![VecDeque::new(); low.len()];
        Self { queues, low, tasks, turns: 0, heads: Vec::new() }
    }

    pub(super) fn add(&mut self, kind: u32, run: u32, ready: f64) {
        let turn = self.turns;
        self.turns += 1;
        self.queues[kind as usize].push_back(Waiter { run, ready, turn });
        if self.queues[kind as usize].len() == 1 {
            let head = self.head(kind, run, turn);
            self.heads.push(head);
        }
    }

    fn head(&self, kind: u32, run: u32, turn: u64) -> Head {
        Head { kind, pipeline: run / self.tasks, turn, low: self.low[kind as usize] }
    }

    pub(super) fn heads(&self) -> &[Head] {
        &self.heads
    }

    pub(super) fn first(&self, kind: u32) -> Option<Waiter> {
        self.queues[kind as usize].front().copied()
    }

    pub(super) fn take(&mut self, kind: u32) -> Option<Waiter> {
        let taken = self.queues[kind as usize].pop_front()?;
        let place = self.heads.iter().position(|head| head.kind == kind)?;
        match self.first(kind) {
            Some(next) => self.heads[place] = self.head(kind, next.run, next.turn),
            None => {
                self.heads.swap_remove(place);
            }
        }
        Some(taken)
    }
}
