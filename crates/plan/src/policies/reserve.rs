//! A pipeline waits until the most that it will ever hold fits beside what others have set apart:
//! how batch systems split a burst buffer when a job starts. As there, who came first is served first.

use super::{Admission, NodePreference, Policy, QueueOrder, low_priority};

pub(super) const POLICY: Policy = Policy {
    name: "reserve",
    about: "a pipeline waits until all that it will hold at once can be set apart",
    admission: Admission::Pipeline,
    order: QueueOrder::Arrival,
    place: NodePreference::Emptiest,
    pick: low_priority::pick_next,
};
