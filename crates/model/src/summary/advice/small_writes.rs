//! A stream in tiny pieces: each pays the full latency.

use super::{Evidence, Finding, group_thousands};
use crate::ByteCount;

/// Less in one class is no stream.
const STREAM_BYTES: u64 = 8 << 20;

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    let streams = evidence.operations_by_class(|line| {
        line.op == "write" && line.size == "4K" && line.pattern == "sequential"
    });
    let worst =
        streams.iter().filter(|line| line.bytes >= STREAM_BYTES).max_by_key(|line| line.time)?;
    // In pieces of 64 KiB a sixteenth of the calls remain.
    let seconds = evidence.wall_seconds(worst.time) * 15.0 / 16.0;
    Some(Finding::time_saving(
        seconds,
        format!(
            "`{}` is written in {} pieces of at most 4 KiB ({} in {}): a larger output buffer, or \
             a pipe through `dd obs=1M`, saves about {}.",
            worst.name,
            group_thousands(worst.count),
            ByteCount(worst.bytes),
            worst.time,
            super::estimated_time(seconds)
        ),
    ))
}
