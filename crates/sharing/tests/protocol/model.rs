//! The model as stateright searches it: limits, properties, and each step that is possible.

use stateright::{Model, Property};

use super::faults::{ANSWERED, BYTES, CIRCLE, Fault, HOLDERS, LOCK, RENAME, SEEN, STALE};
use super::state::{Change, FOLDERS, Flaw, Left, Place, State, Want};

/// How much happens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) nodes: u8,
    pub(crate) writes: u8,
    pub(crate) moves: u8,
    pub(crate) looks: u8,
    pub(crate) deaths: u8,
    pub(crate) cuts: u8,
    pub(crate) switches: u8,
    pub(crate) uploads: u8,
    pub(crate) locks: u8,
}

pub(crate) const NO_LIMITS: Limits = Limits {
    nodes: 3,
    writes: 0,
    moves: 0,
    looks: 0,
    deaths: 0,
    cuts: 0,
    switches: 0,
    uploads: 0,
    locks: 0,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol {
    pub(crate) limits: Limits,
    pub(crate) fault: Option<Fault>,
}

/// What happened, and what is so afterwards.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) words: &'static str,
    pub(crate) node: u8,
    pub(crate) to: State,
}

impl Protocol {
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// The order in which a change pins its folders.
    pub(crate) fn order(&self, change: Change) -> Vec<u8> {
        match change {
            Change::Write(folder) => vec![folder],
            Change::Lock => vec![0],
            Change::Move(to) if self.has(Fault::PinsInTheOrderOfWords) => vec![1 - to, to],
            Change::Move(_) => vec![0, 1],
        }
    }

    /// The folder that a change needs next; `None`: it has all.
    pub(crate) fn next_folder(&self, want: &Want) -> Option<u8> {
        self.order(want.change).into_iter().find(|folder| !want.pinned[usize::from(*folder)])
    }

    fn waits_in_a_circle(&self, state: &State) -> bool {
        let waits = |one: &Want, other: &Want| {
            one.node != other.node
                && self.next_folder(one).is_some_and(|folder| other.pinned[usize::from(folder)])
        };
        state
            .wants
            .iter()
            .any(|one| state.wants.iter().any(|other| waits(one, other) && waits(other, one)))
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Event;

    fn init_states(&self) -> Vec<State> {
        let Limits { writes, moves, looks, deaths, cuts, switches, uploads, locks, .. } =
            self.limits;
        vec![State::first(Left { writes, moves, looks, deaths, cuts, switches, uploads, locks })]
    }

    fn actions(&self, state: &State, events: &mut Vec<Event>) {
        if state.flaw.is_none() {
            for node in 0..self.limits.nodes {
                self.lease_events(state, node, events);
                self.publication(state, node, events);
                self.upload_events(state, node, events);
                self.new_requests(state, node, events);
                self.unlock(state, node, events);
            }
            self.look_events(state, events);
            self.change_events(state, events);
            self.switches(state, events);
        }
    }

    fn next_state(&self, _: &State, event: Event) -> Option<State> {
        Some(event.to.settled())
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        vec![
            Property::always(STALE, |_, state: &State| state.flaw != Some(Flaw::Stale)),
            Property::always(SEEN, |_, state: &State| state.flaw != Some(Flaw::SeenIsLost)),
            Property::always(HOLDERS, |_, state: &State| {
                (0..FOLDERS).all(|folder| {
                    let takes = |node: &&super::state::Node| {
                        node.lives && !node.has_stopped && node.held[folder].is_some()
                    };
                    state.nodes.iter().filter(takes).count() <= 1
                })
            }),
            Property::always(RENAME, |_, state: &State| {
                state.flaw != Some(Flaw::HalfARename)
                    && state.book[0].content.has_name != state.book[1].content.has_name
            }),
            Property::always(CIRCLE, |model: &Protocol, state: &State| {
                !model.waits_in_a_circle(state)
            }),
            Property::always(BYTES, |_, state: &State| {
                let content = state.book[0].content;
                let kept = state.bucket & (1 << content.version) != 0;
                state.flaw != Some(Flaw::WrongBytes) && (content.place != Place::Bucket || kept)
            }),
            Property::always(LOCK, |_, state: &State| {
                let has =
                    |node: &&super::state::Node| node.lives && !node.has_stopped && node.has_lock;
                state.nodes.iter().filter(has).count() <= 1
            }),
            Property::sometimes(ANSWERED, |_, state: &State| {
                state.seen.iter().any(|seen| *seen > 0)
            }),
        ]
    }
}
