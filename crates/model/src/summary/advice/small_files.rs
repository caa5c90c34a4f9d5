//! A storm of tiny files: names cost more than bytes.

use super::{Evidence, Finding, group_thousands};
use crate::{ByteCount, Micros};
use std::collections::HashMap;

const COUNT_MIN: u64 = 500;
const SMALL_BYTES: u64 = 64 << 10;
/// What is spent on a name from birth to death.
const NAME_OPS: &[&str] = &[
    "lookup",
    "lookup_failed",
    "create",
    "open",
    "close",
    "flush",
    "unlink",
    "rename",
    "setattr",
    "getattr",
    "mkdir",
    "rmdir",
    "symlink",
    "link",
];

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    // Number of files and bytes of each class that the run made.
    let mut made: HashMap<u32, (u64, u64)> = HashMap::new();
    for file in evidence.files.iter().filter(|file| file.created) {
        // A file whose size nobody saw is not known to be small.
        let Some(size) = file.size else { continue };
        let (count, bytes) = made.entry(file.class).or_default();
        *count += 1;
        *bytes += size.0;
    }
    made.retain(|_, (count, bytes)| *bytes / *count < SMALL_BYTES);
    let count: u64 = made.values().map(|(count, _)| count).sum();
    let bytes: u64 = made.values().map(|(_, bytes)| bytes).sum();
    if count < COUNT_MIN {
        return None;
    }
    let time: Micros = evidence
        .ops
        .iter()
        .filter(|line| made.contains_key(&line.class) && NAME_OPS.contains(&line.op.as_str()))
        .map(|line| line.time)
        .sum();
    let (worst, (of_worst, _)) = made.iter().max_by_key(|(class, (n, _))| (*n, **class))?;
    let pattern = evidence.classes.get(worst).map_or("", String::as_str);
    // Local storage still has names to keep: most of the time goes, not all.
    let seconds = evidence.wall_seconds(time) * 0.8;
    Some(Finding::time_saving(
        seconds,
        format!(
            "The run made {} small files ({} on average, {} of them `{pattern}`), and their names \
             alone took {time}: keep them on node-local storage.",
            group_thousands(count),
            ByteCount(bytes / count),
            group_thousands(*of_worst)
        ),
    ))
}
