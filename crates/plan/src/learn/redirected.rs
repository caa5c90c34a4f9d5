//! Files that a shell opens for a program: in `tr a b < in > out` the shell has opened both, and the
//! work is that of `tr`.
//!
//! The program is a child of the shell that lives when the file is opened and that is seen to read
//! or write such files. Where bytes go past Forebay, nobody sees that: then it is the only child
//! that lives at that moment, or the shell itself.

use crate::loaded_run::{LoadedOpen, LoadedRun};
use forebay_model::run::ProcessRow;
use forebay_model::{ClassId, FileId, Micros, ProcessId};
use std::collections::{BTreeMap, BTreeSet};

/// Shells within shells, as of `( cd x && sort a ) > out`.
const SHELLS_MAX: usize = 8;
/// Children that began last before the file was opened; the program is among the last.
const CHILDREN_MAX: usize = 64;

/// A task's first process, below a shell.
#[derive(Clone, Copy, Debug)]
struct TaskProcess {
    task: u32,
    from: Micros,
    to: Micros,
}

/// Notes with each file that a driver opened for which task's program it did so.
pub(super) fn find_programs(rows: &mut LoadedRun) {
    let children = children_of_shells(rows);
    let classes: BTreeMap<FileId, ClassId> =
        rows.files.iter().map(|file| (file.id, file.class)).collect();
    let has_count = rows.ops.iter().filter(|row| row.count > 0);
    let moved: BTreeSet<(u32, ClassId, &str)> =
        has_count.filter_map(|row| Some((row.task?, row.class, row.kind.name()))).collect();
    let program = |open: &LoadedOpen| {
        let children = children.get(&open.process)?;
        let class = *classes.get(&open.file)?;
        let moves = |task: u32, op: &str| moved.contains(&(task, class, op));
        program_of(open, children, &moves)
    };
    let programs: Vec<Option<u32>> = rows.opens.iter().map(program).collect();
    for (open, program) in rows.opens.iter_mut().zip(programs) {
        open.program = program;
    }
}

/// For each process of a driver the tasks below it, in the order of their start.
fn children_of_shells(rows: &LoadedRun) -> BTreeMap<ProcessId, Vec<TaskProcess>> {
    let drivers: BTreeSet<u32> =
        rows.tasks.iter().filter(|task| task.driver).map(|task| task.id).collect();
    let is_shell = |row: &ProcessRow| row.task.is_some_and(|task| drivers.contains(&task));
    let by_id: BTreeMap<ProcessId, &ProcessRow> =
        rows.processes.iter().map(|row| (row.id, row)).collect();
    let mut children: BTreeMap<ProcessId, Vec<TaskProcess>> = BTreeMap::new();
    for row in rows.processes.iter().filter(|row| !is_shell(row)) {
        let (Some(task), Some(from)) = (row.task, row.started) else { continue };
        let child = TaskProcess { task, from, to: row.ended.unwrap_or(Micros(u64::MAX)) };
        let parent_of = |row: &ProcessRow| {
            row.parent.and_then(|parent| by_id.get(&parent)).copied().filter(|row| is_shell(row))
        };
        let shells = std::iter::successors(parent_of(row), |shell| parent_of(shell));
        for shell in shells.take(SHELLS_MAX) {
            children.entry(shell.id).or_default().push(child);
        }
    }
    for children in children.values_mut() {
        children.sort_by_key(|child| (child.from, std::cmp::Reverse(child.to)));
    }
    children
}

fn program_of(
    open: &LoadedOpen,
    children: &[TaskProcess],
    moves: &dyn Fn(u32, &str) -> bool,
) -> Option<u32> {
    let began = children.partition_point(|child| child.from <= open.at);
    let last = children[..began].iter().rev().take(CHILDREN_MAX);
    let mut alive = last.filter(|child| open.at <= child.to);
    // What one file gives to another without the program is counted at the other.
    let (bytes, ops): (_, &[&str]) =
        if open.write { (open.wrote, &["write", "copy_range"]) } else { (open.read, &["read"]) };
    match bytes {
        Some(0) => None,
        Some(_) => {
            let is_seen = |child: &&TaskProcess| ops.iter().any(|op| moves(child.task, op));
            alive.find(is_seen).map(|child| child.task)
        }
        None => {
            let task = alive.next()?.task;
            alive.all(|child| child.task == task).then_some(task)
        }
    }
}

#[cfg(test)]
mod tests;
