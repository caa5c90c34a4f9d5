//! Two queues: tasks of the kinds that a choice calls low run only while no other task waits. With
//! several pipelines side by side, those that are far advanced finish first and free their files.

use super::{Admission, NodePreference, Policy, QueueHead, QueueOrder, first_ready};

pub(super) const POLICY: Policy = Policy {
    name: "low-priority",
    about: "some kinds run only while no other task waits",
    admission: Admission::Any,
    order: QueueOrder::Engine,
    place: NodePreference::Emptiest,
    pick: pick_next,
};

pub(super) fn pick_next(
    heads: &[QueueHead],
    could: &mut dyn FnMut(&QueueHead) -> bool,
) -> Option<QueueHead> {
    let normal = first_ready(heads.iter().filter(|head| !head.low));
    normal.or_else(|| first_ready(heads.iter())).filter(|head| could(head))
}
