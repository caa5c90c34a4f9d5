//! Tasks whose node is gone and whose engine has not noticed yet: they neither run nor wait for a slot.

use std::collections::VecDeque;

/// All of them, those first that are noticed first.
#[derive(Clone, Debug, Default)]
pub(super) struct UndetectedLosses {
    runs: VecDeque<(f64, u32)>,
}

impl UndetectedLosses {
    /// A task is lost; the engine notices then, no sooner than with those before.
    pub(super) fn push_lost_task(&mut self, noticed: f64, run: u32) {
        self.runs.push_back((noticed, run));
    }

    /// When the engine notices next; infinity: never.
    pub(super) fn next_due_time(&self) -> f64 {
        self.runs.front().map_or(f64::INFINITY, |(due, _)| *due)
    }

    /// One that it has noticed by now, if there is one.
    pub(super) fn take_noticed(&mut self, now: f64) -> Option<u32> {
        if self.next_due_time() > now {
            return None;
        }
        self.runs.pop_front().map(|(_, run)| run)
    }
}
