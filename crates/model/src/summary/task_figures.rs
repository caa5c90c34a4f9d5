//! What each task did, one by one: the sums of a summary's rows before they are added up by name.

use super::open_file_sums::{OpenFileSums, OperationBytes};
use super::{ByteBounds, TimeSplit, outside_summary, task_summary};
use crate::run::{OpRow, TaskRow, note_key};
use crate::{ByteCount, DirectoryTree, OutsideFile, ProcessId, Result, Run};
use std::collections::{BTreeMap, HashMap};

/// A task, and what it did.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskFigures {
    /// What it is.
    pub task: TaskRow,
    /// Its wall time, and what it was spent on.
    pub time: TimeSplit,
    /// Bytes read.
    pub read: ByteBounds,
    /// Bytes written.
    pub written: ByteBounds,
    /// Different files that it opened.
    pub files: u64,
    /// Operations that were seen.
    pub operations: u64,
    /// Of these, with an error.
    pub failed_operations: u64,
    /// The part of it that went to and from tiers, by the tier's name.
    pub tiers: BTreeMap<String, TierFigures>,
    /// Bytes in files outside of the managed directories: by sampling, so at least so many.
    pub outside: ByteCount,
}

/// What a task did on one tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierFigures {
    /// Bytes read, at least.
    pub read: ByteCount,
    /// Bytes written, at least.
    pub written: ByteCount,
    /// Operations that were seen.
    pub operations: u64,
}

impl TaskFigures {
    /// Of all tasks of a run, by number.
    ///
    /// # Errors
    /// [`Kind::Damaged`](crate::Kind::Damaged) or [`Kind::Io`](crate::Kind::Io) of the run file.
    pub fn of_run(run: &Run) -> Result<Vec<Self>> {
        let is_recorded = run.header()?.note(&note_key::RECORDER).is_some();
        let (ops, trees) = (run.operation_rows()?, run.trees()?);
        let opened = OpenFileSums::from_run(run, &ops)?;
        let outside = outside_by_task(run)?;
        let mut by_task: HashMap<u32, Vec<&OpRow>> = HashMap::new();
        for row in &ops {
            by_task.entry(row.task.unwrap_or(0)).or_default().push(row);
        }
        let figures = run.tasks()?.into_iter().map(|task| {
            let rows = by_task.get(&task.id).map(Vec::as_slice).unwrap_or_default();
            let counted = OperationBytes::from_operations(rows.iter().copied());
            let io = opened.sum_of_tasks([task.id].into_iter(), counted);
            let bounds = |most: fn(&TaskRow) -> Option<ByteCount>, amount| {
                task_summary::group_amount(&[&task], is_recorded, most, amount)
            };
            Self {
                time: TimeSplit::from_tasks([&task]),
                read: bounds(|task| task.rchar_upper, io.read),
                written: bounds(|task| task.wchar_upper, io.written),
                files: io.files,
                operations: rows.iter().map(|row| row.count).sum(),
                failed_operations: rows.iter().map(|row| row.failed).sum(),
                tiers: figures_by_tier(task.id, &trees, rows, &opened),
                outside: outside.get(&task.id).copied().unwrap_or_default(),
                task,
            }
        });
        Ok(figures.collect())
    }
}

/// Of each tier that the task used; several directories of a tier are one.
fn figures_by_tier(
    task: u32,
    trees: &[DirectoryTree],
    rows: &[&OpRow],
    opened: &OpenFileSums,
) -> BTreeMap<String, TierFigures> {
    let mut tiers: BTreeMap<String, TierFigures> = BTreeMap::new();
    for tree in trees {
        let Some(name) = &tree.tier else { continue };
        let here = || rows.iter().filter(|row| row.tree == tree.id).copied();
        let counted = OperationBytes::from_operations(here());
        let (read, written) = opened.sum_of_task_on_tier(task, tree.id, counted);
        let operations: u64 = here().map(|row| row.count).sum();
        if operations + read.at_least.0 + written.at_least.0 > 0 {
            let sum = tiers.entry(name.clone()).or_default();
            sum.read += read.at_least;
            sum.written += written.at_least;
            sum.operations += operations;
        }
    }
    tiers
}

fn outside_by_task(run: &Run) -> Result<HashMap<u32, ByteCount>> {
    let seen: Vec<OutsideFile> = run.outside_files()?;
    let task_of: HashMap<ProcessId, u32> = run
        .processes()?
        .into_iter()
        .filter_map(|process| Some((process.id, process.task?)))
        .collect();
    let mut sums: HashMap<u32, ByteCount> = HashMap::new();
    for file in seen.iter().filter(|seen| outside_summary::is_data(seen)) {
        if let Some(task) = task_of.get(&file.process) {
            *sums.entry(*task).or_default() += file.bytes;
        }
    }
    Ok(sums)
}
