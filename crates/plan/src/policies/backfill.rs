//! First come, first served, but who does not fit is passed by those who do.

use super::{Admission, NodePreference, Policy, QueueHead, QueueOrder, first_startable};

pub(super) const POLICY: Policy = Policy {
    name: "backfill",
    about: "first come, first served; who fits may pass who does not",
    admission: Admission::Any,
    order: QueueOrder::Engine,
    place: NodePreference::Emptiest,
    pick: pick_next,
};

pub(super) fn pick_next(
    heads: &[QueueHead],
    could: &mut dyn FnMut(&QueueHead) -> bool,
) -> Option<QueueHead> {
    let normal = first_startable(heads.iter().filter(|head| !head.low), could);
    normal.or_else(|| first_startable(heads.iter().filter(|head| head.low), could))
}
