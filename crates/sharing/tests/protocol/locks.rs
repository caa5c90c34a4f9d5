//! The lock on a file: who holds its folder asks the nodes that may have it.

use super::faults::Fault;
use super::model::{Event, Protocol};
use super::state::{State, Want};

impl Protocol {
    /// The folder is pinned: nodes that may have the lock are asked, one after the other.
    pub(crate) fn lock(&self, state: &State, (at, want): (usize, &Want), events: &mut Vec<Event>) {
        let node = want.node;
        let mut event = |words, to| events.push(Event { words, node, to });
        let held = state.held(node, 0);
        if held.is_none() && !self.has(Fault::LocksWhatItHoldsNoLonger) {
            return;
        }
        let lockers = held.map_or(0, |held| held.content.lockers);
        let others = (0..self.limits.nodes).filter(|other| *other != node);
        let next = others.into_iter().find(|other| lockers & !want.asked & (1 << other) != 0);
        let Some(other) = next.filter(|_| !self.has(Fault::LocksWithoutAsking)) else {
            if !state.node(node).has_stopped {
                let mut to = state.clone();
                to.wants.remove(at);
                let after = to.node_mut(node);
                after.has_lock = true;
                if let Some(held) = &mut after.held[0] {
                    held.content.lockers |= 1 << node;
                }
                event("has the lock", to);
            }
            return;
        };
        let without = |mut to: State| {
            to.wants[at].asked |= 1 << other;
            if let Some(held) = &mut to.node_mut(node).held[0] {
                held.content.lockers &= !(1 << other);
            }
            to
        };
        let asked = state.node(other);
        let is_over = !state.has_lease[usize::from(other)] && !state.node(node).is_cut_off;
        match () {
            () if asked.lives && !asked.has_stopped && asked.has_lock => {
                let mut to = state.clone();
                to.wants.remove(at);
                event("is told that another node has the lock", to);
            }
            () if asked.lives && !asked.has_stopped => {
                event("is told that another node does not have the lock", without(state.clone()));
            }
            () => {}
        }
        // A message may be lost at any time.
        if is_over || self.has(Fault::TakesSilenceForNo) {
            event("is not answered by a node, and does without it", without(state.clone()));
        }
    }

    pub(crate) fn unlock(&self, state: &State, node: u8, events: &mut Vec<Event>) {
        if state.node(node).has_lock {
            let mut to = state.clone();
            to.node_mut(node).has_lock = false;
            events.push(Event { words: "gives up its lock", node, to });
        }
    }
}
