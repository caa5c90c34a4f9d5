//! First come, first served, and each goes where most of what it reads already is: in a cache of one
//! node's reach, or in the memory of a node. It waits for no node: who is first takes what is free.

use super::{Admission, NodePreference, Policy, QueueOrder, fifo};

pub(super) const POLICY: Policy = Policy {
    name: "locality",
    about: "first come, first served, on the node that has most of what a task reads",
    admission: Admission::Any,
    order: QueueOrder::Engine,
    place: NodePreference::NearInputs,
    pick: fifo::pick_next,
};
