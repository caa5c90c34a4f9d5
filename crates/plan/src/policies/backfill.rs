//! First come, first served, but who does not fit is passed by those who do.

use super::{Admission, Head, Place, Policy, first_startable};

pub(super) const POLICY: Policy = Policy {
    name: "backfill",
    about: "first come, first served; who fits may pass who does not",
    admission: Admission::Any,
    place: Place::Emptiest,
    pick: pick_next,
};

pub(super) fn pick_next(heads: &[Head], could: &mut dyn FnMut(&Head) -> bool) -> Option<Head> {
    let normal = first_startable(heads.iter().filter(|head| !head.low), could);
    normal.or_else(|| first_startable(heads.iter().filter(|head| head.low), could))
}
