//! Policies: which waiting task gets a free slot. A table: one file and one line for each.
//!
//! What they are not: they start nothing. The simulation asks, for as long as there is an answer.

mod backfill;
mod capacity;
mod fifo;
mod locality;
mod low_priority;
mod reserve;

use crate::PolicyId;
use std::fmt;

/// Every policy, in the order in which help lists them.
pub const POLICIES: &[Policy] = &[
    fifo::POLICY,
    low_priority::POLICY,
    capacity::POLICY,
    reserve::POLICY,
    backfill::POLICY,
    locality::POLICY,
];

/// The first of the waiting tasks of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueHead {
    /// The place of its kind in the workload.
    pub kind: u32,
    /// The pipeline that it belongs to.
    pub pipeline: u32,
    /// Those that became ready before, or that the engine took before, have smaller numbers.
    pub turn: u64,
    /// It is in the queue of low priority.
    pub low: bool,
}

/// Which of these heads is next; it may ask whether one could run now.
pub type PickFunction =
    fn(heads: &[QueueHead], could: &mut dyn FnMut(&QueueHead) -> bool) -> Option<QueueHead>;

/// What must be free before a task starts, beside its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Nothing: files spill, or writers fail, when a tier is full.
    Any,
    /// Room for all that the task and those that run will write.
    Peak,
    /// Room for the most that its whole pipeline will hold at once, set apart when the pipeline
    /// starts.
    Pipeline,
}

/// Which tasks of an engine come before others, where the engine took them in an order of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// Those that the engine took first; of several pipelines one after the other takes its turn.
    Engine,
    /// Those that became ready first, of whichever pipeline: engines send a batch system all that is
    /// ready, and it serves who came first.
    Arrival,
}

/// Which of the nodes that can take a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodePreference {
    /// The one with most free slots.
    Emptiest,
    /// The one that has most of what the task reads; of equals, the one with most free slots.
    NearInputs,
}

/// One policy.
#[derive(Clone, Copy)]
pub struct Policy {
    /// What it is called in a choice and on the command line.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    /// What must be free.
    pub admission: Admission,
    /// Which come first.
    pub order: QueueOrder,
    /// Where it goes.
    pub place: NodePreference,
    /// Which is next.
    pub pick: PickFunction,
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Policy").field(&self.name).finish()
    }
}

impl Policy {
    /// How a choice calls it.
    pub const fn id(&self) -> PolicyId {
        PolicyId(self.name)
    }

    /// The policy with this name.
    pub fn find_by_name(name: &str) -> Option<&'static Self> {
        POLICIES.iter().find(|policy| policy.name == name)
    }
}

/// The one that became ready first.
fn first_ready<'h>(heads: impl Iterator<Item = &'h QueueHead>) -> Option<QueueHead> {
    heads.copied().min_by_key(|head| head.turn)
}

/// The one that became ready first of those that could run now.
fn first_startable<'h>(
    heads: impl Iterator<Item = &'h QueueHead>,
    could: &mut dyn FnMut(&QueueHead) -> bool,
) -> Option<QueueHead> {
    let mut best: Option<QueueHead> = None;
    for head in heads {
        if best.is_none_or(|best| head.turn < best.turn) && could(head) {
            best = Some(*head);
        }
    }
    best
}
