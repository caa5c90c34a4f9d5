//! One lane: what it has, who is at it, and what it adds to a byte or an operation.

use super::FlowClass;
use super::account::CreditAccount;
use crate::prepared_problem::ResourceLimit;
use crate::share::ShapeId;

/// One lane of one storage.
#[derive(Clone, Debug)]
pub(super) struct SharedResource {
    limit: ResourceLimit,
    /// The part of the limit that is left under use.
    pub(super) left: f64,
    /// Seconds that it adds to each byte or operation: 0 while it is not full.
    pub(super) extra: f64,
    /// Classes with flows here, and what one of their flows asks for in a second alone.
    pub(super) members: Vec<(ShapeId, f64)>,
    /// What all flows here ask for in a second, if nothing were in their way.
    asked: f64,
    /// Flows here on each node, if nodes have a limit, and how many nodes have some.
    on: Vec<u32>,
    busy: u32,
    /// Credits, where there are any.
    pub(super) account: Option<CreditAccount>,
}

impl SharedResource {
    pub(super) fn new(limit: ResourceLimit, nodes: u32) -> Self {
        let account = limit.credits.map(|credits| CreditAccount::new(credits, &limit, nodes));
        let nodes = if limit.node.is_finite() { nodes as usize } else { 0 };
        Self {
            limit,
            left: 1.0,
            extra: 0.0,
            members: Vec::new(),
            asked: 0.0,
            on: vec![0; nodes],
            busy: 0,
            account,
        }
    }

    pub(super) fn add_member(&mut self, shape: ShapeId, amount: f64) {
        self.members.push((shape, amount));
    }

    pub(super) fn remove_member(&mut self, shape: ShapeId) {
        self.members.retain(|(other, _)| *other != shape);
        if self.members.is_empty() {
            // What is left is rounding.
            self.asked = 0.0;
            self.extra = 0.0;
        }
    }

    /// One flow more or less.
    pub(super) fn adjust_flow_count(&mut self, node: u32, amount: f64, more: bool) {
        self.asked += if more { amount } else { -amount };
        if let Some(on) = self.on.get_mut(node as usize) {
            if more {
                self.busy += u32::from(*on == 0);
                *on += 1;
            } else {
                *on -= 1;
                self.busy -= u32::from(*on == 0);
            }
        }
    }

    fn available_rate(&self) -> f64 {
        let nodes =
            if self.on.is_empty() { f64::INFINITY } else { self.limit.node * f64::from(self.busy) };
        let share = self.account.as_ref().map_or(1.0, CreditAccount::limit_share);
        match self.limit.credits.is_some_and(|credits| credits.of_node) {
            true => self.limit.total.min(nodes * share) * self.left,
            false => (self.limit.total * share).min(nodes) * self.left,
        }
    }

    /// Bytes or operations a second that go through it now.
    pub(super) fn current_throughput(&self, classes: &[FlowClass]) -> f64 {
        let each = self.members.iter().map(|(shape, amount)| {
            let class = &classes[*shape as usize];
            class.queue.len() as f64 * amount / class.stretch
        });
        each.sum()
    }

    /// It adds nothing, and has no reason to.
    pub(super) fn is_idle(&self) -> bool {
        self.extra == 0.0 && self.asked <= self.available_rate()
    }

    /// What it should add, so that no more than it has goes through it; `None`: what it adds now.
    pub(super) fn solve_wait(&self, classes: &[FlowClass]) -> Option<f64> {
        if self.members.is_empty() || self.is_idle() {
            return None;
        }
        let has = self.available_rate();
        let through = |extra: f64| {
            let (mut sum, mut slope) = (0.0, 0.0);
            for (shape, amount) in &self.members {
                let class = &classes[*shape as usize];
                let stretch = (class.stretch + amount * (extra - self.extra)).max(1.0);
                let pace = amount / stretch;
                let each = class.queue.len() as f64 * pace;
                sum += each;
                slope += each * pace;
            }
            (sum, slope)
        };
        // What goes through is a sum of hyperbolas, so one over it is nearly straight, and concave:
        // Newton's steps on that from the left never go too far, and one from the right lands on
        // the left.
        let mut extra = self.extra;
        for _ in 0..60 {
            let (sum, slope) = through(extra);
            let off = sum / has - 1.0;
            if off.abs() <= 1e-7 || slope == 0.0 {
                break;
            }
            let better = (extra + off * sum / slope).max(0.0);
            if better == extra {
                break;
            }
            extra = better;
            // The error of such a step is below the square of what it mends.
            if off.abs() <= 1e-4 {
                break;
            }
        }
        (extra != self.extra).then_some(extra)
    }
}
