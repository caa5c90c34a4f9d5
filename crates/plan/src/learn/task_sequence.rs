//! The tasks of a run in their order, for those who do its work again: what each waited for, how
//! many cores it took, and how long the engine took before it.

use super::edges::TaskDependencies;
use super::file_uses;
use super::timeline::{ROUNDED, Timeline};
use crate::loaded_run::LoadedRun;
use std::collections::BTreeMap;

/// One task. Times are seconds from the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SequencedTask {
    /// `tasks.task`.
    pub(crate) task: u32,
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) cores: u32,
    /// Places of earlier turns.
    pub(crate) after: Vec<usize>,
    /// Although all that it waited for was done and there was room.
    pub(crate) engine: f64,
}

/// All tasks, each after those that it waits for, else in the order of their start.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TaskSequence {
    pub(crate) all: Vec<SequencedTask>,
    /// The most cores that were taken at once.
    pub(crate) slots: u32,
    /// From the start to the end of the command.
    pub(crate) makespan: f64,
}

/// # Errors
/// Tasks that wait for each other in a circle.
pub(crate) fn collect_turns(rows: &LoadedRun) -> Result<TaskSequence, String> {
    let mut line = Timeline::from_rows(rows);
    let edges =
        TaskDependencies::from_rows(rows, &line, &file_uses::collect_used_files(rows, &line))?;
    // Short tasks that follow each other would look like two at once, and what a shell did before a
    // task like something beside it.
    for ran in &mut line.ran {
        ran.start = (ran.start + ROUNDED).min(ran.end);
    }
    let place: BTreeMap<usize, usize> =
        edges.order.iter().enumerate().map(|(turn, &at)| (at, turn)).collect();
    let turn = |&at: &usize| {
        let ran = &line.ran[at];
        SequencedTask {
            task: rows.tasks[ran.row].id,
            start: ran.start,
            end: ran.end,
            cores: ran.cores,
            after: edges.after[at].iter().map(|before| place[before]).collect(),
            engine: 0.0,
        }
    };
    let mut all: Vec<SequencedTask> = edges.order.iter().map(turn).collect();
    let widest = all.iter().map(|turn| turn.cores).max().unwrap_or(1);
    let slots = line.usual_peak_cores().max(widest);
    measure_engine_gaps(&mut all, slots);
    Ok(TaskSequence { slots, all, makespan: line.makespan })
}

/// How long each began after it could have: when all that it waited for was done, and the last of
/// those before it that left room for it had ended.
fn measure_engine_gaps(all: &mut [SequencedTask], slots: u32) {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| all[a].start.total_cmp(&all[b].start).then(a.cmp(&b)));
    let first = order.first().map_or(0.0, |&at| all[at].start);
    // For each slot, since when it is free.
    let mut free = vec![first; (slots as usize).min(all.len().max(1))];
    for at in order {
        let ready = all[at].after.iter().map(|&before| all[before].end).fold(first, f64::max);
        free.sort_by(f64::total_cmp);
        let taken = (all[at].cores.max(1) as usize).min(free.len());
        let could = ready.max(free[taken - 1]);
        all[at].engine = (all[at].start - could).max(0.0);
        let end = all[at].end;
        free[..taken].iter_mut().for_each(|slot| *slot = end);
    }
}
