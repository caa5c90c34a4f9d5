//! Much of the data lies outside the covered trees: cover it, then judge.

use super::{Evidence, Finding};

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    let outside = &evidence.summary.outside;
    let (at, share) = (outside.at.as_ref()?, outside.share?);
    Some(Finding {
        // A run that misses most of its bytes should hear of nothing else first.
        score_s: evidence.summary.wall_us.as_secs() * if share >= 0.5 { 0.9 } else { share * 0.5 },
        saves: None,
        sentence: format!(
            "At least {} ({:.0} % of the bytes) moved outside the managed directory: run again \
             with `--at {at}` to see them too.",
            outside.bytes,
            share * 100.0
        ),
    })
}
