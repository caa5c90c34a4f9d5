//! First come, first served: a task that does not fit holds up all behind it.

use super::{Admission, NodePreference, Policy, QueueHead, QueueOrder, first_ready};

pub(super) const POLICY: Policy = Policy {
    name: "fifo",
    about: "first come, first served",
    admission: Admission::Any,
    order: QueueOrder::Engine,
    place: NodePreference::Emptiest,
    pick: pick_next,
};

pub(super) fn pick_next(
    heads: &[QueueHead],
    could: &mut dyn FnMut(&QueueHead) -> bool,
) -> Option<QueueHead> {
    first_ready(heads.iter()).filter(|head| could(head))
}
