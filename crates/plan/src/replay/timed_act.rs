//! An act of a run: when it happened, who did it, and which name it is about.

use super::run_lookup::Owner;
use super::{NamePrecondition, ReplayAction};
use forebay_model::ProcessId;

/// An act with its moment.
#[derive(Clone, Debug)]
pub(super) struct TimedAction {
    pub(super) at: f64,
    /// What an open file of the engine's does is all done where it is opened.
    pub(super) since: f64,
    pub(super) lane: Actor,
    pub(super) act: ReplayAction,
    /// The name that it is about, and whether it changes what others find there.
    pub(super) name: Option<(usize, bool)>,
    pub(super) wait: Option<NamePrecondition>,
}

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Actor {
    /// A process of a task.
    Process(usize, ProcessId),
    /// A task, nobody knows by which of its processes.
    Task(usize),
    /// The engine and its shells.
    Driver,
}

impl Actor {
    pub(super) fn for_owner(owner: Owner) -> Self {
        owner.map_or(Self::Driver, Self::Task)
    }
}

impl TimedAction {
    pub(super) fn new(at: f64, lane: Actor, act: ReplayAction) -> Self {
        Self { at, since: at, lane, act, name: None, wait: None }
    }

    pub(super) fn with_name(self, name: usize, changes: bool) -> Self {
        Self { name: Some((name, changes)), ..self }
    }
}
