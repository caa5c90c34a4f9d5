//! Room on tiers is a resource like slots: a task waits until what it writes fits beside what is
//! there and what running tasks still write. Who waits for room is passed by those who need none.

use super::{Admission, NodePreference, Policy, QueueOrder, backfill};

pub(super) const POLICY: Policy = Policy {
    name: "capacity",
    about: "a task waits until what it writes fits on its tiers",
    admission: Admission::Peak,
    order: QueueOrder::Engine,
    place: NodePreference::Emptiest,
    pick: backfill::pick_next,
};
