//! Programs wait for small amounts to be made durable, again and again.

use super::{Evidence, Finding, group_thousands};
use crate::ByteCount;

const COUNT_MIN: u64 = 50;
/// Fewer bytes for each sync are small.
const SMALL_BYTES: u64 = 1 << 20;

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    let syncs = evidence.operations_by_class(|line| line.op == "fsync" || line.op == "fsyncdir");
    let (count, time) = syncs
        .iter()
        .fold((0, crate::Micros::ZERO), |(count, time), s| (count + s.count, time + s.time));
    if count < COUNT_MIN {
        return None;
    }
    let worst = syncs.iter().max_by_key(|line| (line.time, line.count))?;
    let written: u64 = evidence
        .ops
        .iter()
        .filter(|line| line.class == worst.class && line.op == "write")
        .map(|line| line.bytes)
        .sum();
    let each = written / worst.count.max(1);
    let seconds = evidence.wall_seconds(time);
    let small = if evidence.summary.hidden || each >= SMALL_BYTES {
        String::new()
    } else {
        format!(", one for every {} written", ByteCount(each))
    };
    Some(Finding::time_saving(
        seconds,
        format!(
            "Tasks waited {time} for {} fsyncs, most for `{}` ({}{small}): such files are best on \
             node-local storage, where a sync costs microseconds.",
            group_thousands(count),
            worst.name,
            group_thousands(worst.count)
        ),
    ))
}
