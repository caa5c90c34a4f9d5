//! One file is read by many tasks: keep it near.

use super::{Evidence, Finding};
use crate::Micros;

const TASKS_MIN: u64 = 4;
const BYTES_MIN: u64 = 256 << 20;

pub(super) fn finding_for(evidence: &Evidence<'_>) -> Option<Finding> {
    let shared = evidence.files.iter().filter_map(|file| Some((file, file.size?)));
    let shared = shared.filter(|(file, size)| {
        file.tasks >= TASKS_MIN && file.read.0 >= BYTES_MIN && file.read.0 >= 2 * size.0
    });
    let (worst, size) = shared.max_by_key(|(file, _)| file.read)?;
    let time: Micros = evidence
        .ops
        .iter()
        .filter(|line| line.class == worst.class && line.op == "read")
        .map(|line| line.time)
        .sum();
    // The first read stays.
    let seconds = evidence.wall_seconds(time) * (1.0 - 1.0 / worst.tasks as f64);
    Some(Finding::time_saving(
        seconds,
        format!(
            "{} tasks read `{}` ({}), {} in all: a copy on node-local storage is fetched once.",
            worst.tasks, worst.path, size, worst.read
        ),
    ))
}
