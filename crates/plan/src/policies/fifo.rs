//! First come, first served: a task that does not fit holds up all behind it.

use super::{Admission, Head, Place, Policy, first_ready};

pub(super) const POLICY: Policy = Policy {
    name: "fifo",
    about: "first come, first served",
    admission: Admission::Any,
    place: Place::Emptiest,
    pick: pick_next,
};

pub(super) fn pick_next(heads: &[Head], could: &mut dyn FnMut(&Head) -> bool) -> Option<Head> {
    first_ready(heads.iter()).filter(|head| could(head))
}
