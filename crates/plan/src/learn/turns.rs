//! The tasks of a run in their order, for those who do its work again: what each waited for, how
//! many cores it took, and how long the engine took before it.

use super::edges::Edges;
use super::files;
use super::rows::Rows;
use super::timeline::Timeline;
use std::collections::BTreeMap;

/// One task. Times are seconds from the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Turn {
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
pub(crate) struct Turns {
    pub(crate) all: Vec<Turn>,
    /// The most cores that were taken at once.
    pub(crate) slots: u32,
    /// From the start to the end of the command.
    pub(crate) makespan: f64,
}

/// # Errors
/// Tasks that wait for each other in a circle.
pub(crate) fn turns(rows: &Rows) -> Result<Turns, String> {
    let line = Timeline::of(rows);
    let edges = Edges::of(rows, &line, &files::used(rows, &line))?;
    let gaps = line.gaps(&edges.ready(&line));
    let place: BTreeMap<usize, usize> =
        edges.order.iter().enumerate().map(|(turn, &at)| (at, turn)).collect();
    let turn = |&at: &usize| {
        let ran = &line.ran[at];
        Turn {
            task: rows.tasks[ran.row].id,
            start: ran.start,
            end: ran.end,
            cores: ran.cores,
            after: edges.after[at].iter().map(|before| place[before]).collect(),
            engine: gaps[at],
        }
    };
    let all = edges.order.iter().map(turn).collect();
    Ok(Turns { all, slots: line.slots, makespan: line.makespan })
}
