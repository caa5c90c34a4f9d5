//! Tasks of one name as one row, and trees.

use super::open_file_sums::{OpenFileSums, OperationBytes};
use super::{ByteBounds, TaskSummary, TierSummary, TimeSplit};
use crate::run::{OpRow, TaskRow};
use crate::{ByteCount, DirectoryTree, Micros};
use std::collections::{BTreeMap, HashMap};

/// One row for each name; costliest first, drivers last. `is_recorded`: a recorder saw them all.
pub(super) fn tasks_by_name(
    tasks: &[TaskRow],
    ops: &[OpRow],
    opened: &OpenFileSums,
    is_recorded: bool,
) -> Vec<TaskSummary> {
    let mut operations: HashMap<u32, Vec<&OpRow>> = HashMap::new();
    for row in ops {
        operations.entry(row.task.unwrap_or(0)).or_default().push(row);
    }
    let mut groups: BTreeMap<(bool, &str), Vec<&TaskRow>> = BTreeMap::new();
    for task in tasks {
        groups.entry((task.driver, &task.name)).or_default().push(task);
    }
    let mut rows: Vec<TaskSummary> = groups
        .into_iter()
        .map(|((driver, name), group)| {
            let mut walls: Vec<Micros> =
                group.iter().filter_map(|t| Some(t.ended?.since(t.started?))).collect();
            walls.sort_unstable();
            let rows = || group.iter().filter_map(|t| operations.get(&t.id)).flatten().copied();
            let io = opened
                .sum_of_tasks(group.iter().map(|t| t.id), OperationBytes::from_operations(rows()));
            TaskSummary {
                name: name.to_owned(),
                engine: group[0].engine.clone(),
                driver,
                count: group.len() as u64,
                failed: group.iter().filter(|t| t.exit_status.is_some_and(|s| s != 0)).count()
                    as u64,
                wall_us: (!walls.is_empty()).then(|| walls.iter().copied().sum()),
                wall_median_us: median_of_sorted(&walls),
                cpu_us: total_known(group.iter().map(|t| total_cpu(t))),
                memory_bytes: group.iter().filter_map(|task| task.memory).max(),
                waited_us: total_known(group.iter().map(|t| t.waited)),
                time: TimeSplit::from_tasks(group.iter().copied()),
                memory_peak_bytes: group.iter().filter_map(|t| t.memory_peak.or(t.memory)).max(),
                read: group_amount(&group, is_recorded, |t| t.rchar_upper, io.read),
                written: group_amount(&group, is_recorded, |t| t.wchar_upper, io.written),
                files: io.files,
                operations: rows().map(|row| row.count).sum(),
            }
        })
        .collect();
    rows.sort_by_key(|row| (row.driver, std::cmp::Reverse((row.wall_us, row.waited_us))));
    rows
}

/// What is known of it: some tell both kinds in one.
fn total_cpu(task: &TaskRow) -> Option<Micros> {
    let known = task.cpu_user.or(task.cpu_system);
    known.map(|_| task.cpu_user.unwrap_or_default() + task.cpu_system.unwrap_or_default())
}

fn median_of_sorted(sorted: &[Micros]) -> Option<Micros> {
    let middle = sorted.len() / 2;
    match sorted {
        [] => None,
        all if all.len() % 2 == 1 => Some(all[middle]),
        all => Some(Micros((all[middle - 1].0 + all[middle].0) / 2)),
    }
}

/// The sum of what is known; `None` if nothing is.
fn total_known(all: impl Iterator<Item = Option<Micros>>) -> Option<Micros> {
    all.flatten().reduce(|a, b| a + b)
}

/// Bytes of tasks whose operations nobody recorded were not seen, even if no file is known.
pub(super) fn group_amount(
    group: &[&TaskRow],
    is_recorded: bool,
    most: fn(&TaskRow) -> Option<ByteCount>,
    amount: ByteBounds,
) -> ByteBounds {
    let recorded = is_recorded || group.iter().all(|task| task.waited.is_some());
    let at_most = bytes_upper_bound(group, most);
    ByteBounds { seen: amount.seen.filter(|_| recorded), at_most, ..amount }
}

/// An upper bound holds only if every task has one.
fn bytes_upper_bound(
    group: &[&TaskRow],
    of: fn(&TaskRow) -> Option<ByteCount>,
) -> Option<ByteCount> {
    group.iter().map(|task| of(task)).sum::<Option<ByteCount>>()
}

/// One row for each tree.
pub(super) fn tier_rows(
    trees: &[DirectoryTree],
    ops: &[OpRow],
    opened: &OpenFileSums,
) -> Vec<TierSummary> {
    trees
        .iter()
        .map(|tree| {
            let here = || ops.iter().filter(|row| row.tree == tree.id);
            let io = opened.sum_of_tree(tree.id, OperationBytes::from_operations(here()));
            TierSummary {
                path: String::from_utf8_lossy(&tree.path).into_owned(),
                tier: tree.tier.clone(),
                fs_type: tree.fs_type.clone(),
                passthrough: tree.passthrough,
                read: io.read,
                written: io.written,
                files: io.files,
                operations: here().map(|row| row.count).sum(),
                time_us: here().map(|row| row.time).sum(),
            }
        })
        .collect()
}
