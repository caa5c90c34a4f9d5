//! Flows of one class in the order in which they will be done.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq)]
struct FlowEnd {
    at: f64,
    flow: u32,
}

impl Eq for FlowEnd {}

impl Ord for FlowEnd {
    /// The earliest is the greatest: a heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.flow.cmp(&self.flow))
    }
}

impl PartialOrd for FlowEnd {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Flows by their ends.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowQueue(BinaryHeap<FlowEnd>);

impl FlowQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn first_end(&self) -> Option<f64> {
        self.0.peek().map(|end| end.at)
    }

    pub(super) fn push(&mut self, at: f64, flow: u32) {
        self.0.push(FlowEnd { at, flow });
    }

    /// The first, if it ends by then.
    pub(super) fn pop_if_due(&mut self, until: f64) -> Option<u32> {
        if self.first_end()? > until {
            return None;
        }
        self.0.pop().map(|end| end.flow)
    }

    /// Takes one out of the middle: machines are seldom taken away, so it may be slow.
    pub(super) fn remove(&mut self, flow: u32) {
        self.0.retain(|end| end.flow != flow);
    }
}
