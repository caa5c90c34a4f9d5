//! All flows of one shape: time passes for them at once.

use super::queue::FlowQueue;

/// All flows of one shape.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowClass {
    /// Seconds alone that each of its flows has done since the class was last empty.
    pub(super) done: f64,
    /// When that was true.
    pub(super) at: f64,
    /// Seconds that one second alone takes.
    pub(super) stretch: f64,
    /// Flows by what `done` is when they are done.
    pub(super) queue: FlowQueue,
    /// When the first of them is done.
    pub(super) next: f64,
    /// Its stretch has changed since `next` was worked out.
    pub(super) moved: bool,
}

impl FlowClass {
    pub(super) fn advance_to(&mut self, now: f64) {
        if now > self.at {
            self.done += (now - self.at) / self.stretch;
        }
        self.at = now;
    }

    pub(super) fn predict_next_completion(&mut self) {
        self.moved = false;
        self.next = match self.queue.first_end() {
            Some(end) => self.at + (end - self.done).max(0.0) * self.stretch,
            None => f64::INFINITY,
        };
    }
}
