//! What waited for what: who read what others had written, what is told, and who began when another
//! had ended; in an order in which each task comes after all that it waits for.

use super::file_uses::FileHistory;
use super::inferred;
use super::order;
use super::timeline::Timeline;
use crate::loaded_run::LoadedRun;
use std::collections::{BTreeMap, BTreeSet};

/// What each task waits for, by places in the timeline.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskDependencies {
    pub(super) after: Vec<BTreeSet<usize>>,
    /// All places, each after those that it waits for; else in the order of their start.
    pub(super) order: Vec<usize>,
    /// They are guessed from times.
    pub(super) guessed: bool,
}

impl TaskDependencies {
    /// # Errors
    /// Tasks that wait for each other in a circle, by name.
    pub(super) fn from_rows(
        rows: &LoadedRun,
        line: &Timeline,
        files: &[FileHistory],
    ) -> Result<Self, String> {
        let mut after = vec![BTreeSet::new(); line.ran.len()];
        for &(reader, writer) in files.iter().flat_map(|file| &file.waits) {
            after[reader].insert(writer);
        }
        for (task, before) in &rows.waits {
            if let (Some(&task), Some(&before)) = (line.place.get(task), line.place.get(before))
                && task != before
            {
                after[task].insert(before);
            }
        }
        let sequence = order::sibling_edges(rows, line);
        for &(task, before) in &sequence {
            after[task].insert(before);
        }
        // Files or records that say nothing of one task are silent on purpose; of all, by nature.
        let silent = files.is_empty() && rows.waits.is_empty() && sequence.is_empty();
        let guesses = if silent { inferred::infer_edges(rows, line) } else { Vec::new() };
        for &(task, before) in &guesses {
            after[task].insert(before);
        }
        let order = topological_order(&after);
        if order.len() < after.len() {
            return Err(describe_cycle(rows, line, &after, &order));
        }
        Ok(Self { after, order, guessed: silent && line.ran.len() > 1 })
    }

    /// When each task could have started: when all that it waits for was done.
    pub(super) fn ready_times(&self, line: &Timeline) -> Vec<f64> {
        let first = line.first_start();
        let ends =
            |of: &BTreeSet<usize>| of.iter().map(|&at| line.ran[at].end).fold(first, f64::max);
        self.after.iter().map(ends).collect()
    }

    /// Tasks that nobody waits for.
    pub(super) fn final_tasks(&self) -> BTreeSet<usize> {
        let awaited: BTreeSet<usize> = self.after.iter().flatten().copied().collect();
        (0..self.after.len()).filter(|at| !awaited.contains(at)).collect()
    }
}

/// Kahn's order, the earliest first; tasks of a circle, and those behind one, are missing in it.
fn topological_order(after: &[BTreeSet<usize>]) -> Vec<usize> {
    let mut left: Vec<usize> = after.iter().map(BTreeSet::len).collect();
    let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (task, before) in after.iter().enumerate() {
        before.iter().for_each(|&before| behind.entry(before).or_default().push(task));
    }
    let mut free: BTreeSet<usize> = (0..after.len()).filter(|&task| left[task] == 0).collect();
    let mut order = Vec::with_capacity(after.len());
    while let Some(task) = free.pop_first() {
        order.push(task);
        for &next in behind.get(&task).into_iter().flatten() {
            left[next] -= 1;
            if left[next] == 0 {
                free.insert(next);
            }
        }
    }
    order
}

/// Names a circle: from any task that is left, backwards until one comes again.
fn describe_cycle(
    rows: &LoadedRun,
    line: &Timeline,
    after: &[BTreeSet<usize>],
    order: &[usize],
) -> String {
    const SHOWN: usize = 8;
    let done: BTreeSet<usize> = order.iter().copied().collect();
    let left = |tasks: &BTreeSet<usize>| tasks.iter().copied().find(|task| !done.contains(task));
    let mut path: Vec<usize> = Vec::new();
    let mut next = (0..after.len()).find(|task| !done.contains(task));
    while let Some(task) = next.filter(|task| !path.contains(task)) {
        path.push(task);
        next = left(&after[task]);
    }
    let from = path.iter().position(|&task| Some(task) == next).unwrap_or(0);
    let name = |&task: &usize| {
        let row = &rows.tasks[line.ran[task].row];
        format!("task {} ({})", row.id, row.name)
    };
    let names: Vec<String> = path[from..].iter().take(SHOWN).map(name).collect();
    let more = if path.len() - from > SHOWN { " and others" } else { "" };
    format!(
        "tasks wait for each other in a circle, so none of them can start: {}{more}",
        names.join(", ")
    )
}
