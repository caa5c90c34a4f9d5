//! Programs that wait for the disk again and again.

use super::{Evidence, group_thousands};
use forebay_model::{FileLocation, Op, Seconds};

pub(super) fn assess_saving(evidence: &Evidence<'_>) -> Option<(Seconds, String)> {
    let sums = evidence.operations_by_class(Op::Fsync);
    let most = sums.first()?;
    let saves = evidence.wall_time(most.time);
    let class = &evidence.workload.classes[most.class].pattern;
    let count = group_thousands(most.count);
    let remedy = match &evidence.choice.placements[most.class].home {
        FileLocation::Tier(_) => {
            "fsync = \"ordered\" in its rule keeps their order and waits for none"
        }
        FileLocation::Here => "a rule that gives it a home on a tier may have fsync = \"ordered\"",
    };
    let sentence = format!(
        "Files of {class:?} are made durable {count} times in each pipeline: {remedy}, which saves \
         up to {saves}; after a power failure the newest may be missing."
    );
    Some((saves, sentence))
}
