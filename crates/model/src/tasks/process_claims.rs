//! What engines look at, and how they claim.

use crate::run_rows::ProcessRow;
use crate::{Micros, ProcessId};
use std::collections::HashMap;

/// Something an engine's control file says about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EngineNote {
    /// The engine's key: a work directory or an output file. Relative to the tree when it is read
    /// from a control file, absolute in [`ObservedRun`].
    pub(crate) subject: Vec<u8>,
    /// What is said.
    pub(crate) what: &'static str,
    /// The value.
    pub(crate) value: EngineNoteValue,
}

/// A value of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EngineNoteValue {
    /// The control file says nothing but that it is there.
    There,
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// A note that was kept, with the time at which its file was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PersistedNote {
    /// Which engine's.
    pub(crate) engine: String,
    /// The engine's key, absolute.
    pub(crate) subject: Vec<u8>,
    /// What is said.
    pub(crate) what: String,
    /// The value.
    pub(crate) value: EngineNoteValue,
    /// When.
    pub(crate) at: Micros,
}

/// A run as engines look at it. Processes are named by their place in `processes`.
#[derive(Debug, Default)]
pub(crate) struct ObservedRun {
    /// All processes.
    pub(crate) processes: Vec<ProcessRow>,
    /// Files that were made or written, absolute, by whom; in order of time.
    pub(crate) wrote: Vec<(usize, Vec<u8>)>,
    /// What control files said.
    pub(crate) notes: Vec<PersistedNote>,
    parents: Vec<Option<usize>>,
    order: Vec<usize>,
    strange: Vec<bool>,
}

impl ObservedRun {
    /// Sorts out who is whose parent. `wrote` names processes by their number in the run.
    pub(crate) fn new(
        processes: Vec<ProcessRow>,
        wrote: Vec<(ProcessId, Vec<u8>)>,
        notes: Vec<PersistedNote>,
    ) -> Self {
        let place: HashMap<ProcessId, usize> =
            processes.iter().enumerate().map(|(i, p)| (p.id, i)).collect();
        let parents: Vec<Option<usize>> = processes
            .iter()
            .map(|p| p.parent.filter(|&parent| parent != p.id))
            .map(|parent| place.get(&parent?).copied())
            .collect();
        let wrote =
            wrote.into_iter().filter_map(|(id, path)| Some((*place.get(&id)?, path))).collect();
        let order = parents_first(&parents);
        let mut strange: Vec<bool> = processes.iter().map(|row| row.stranger).collect();
        for &process in &order {
            strange[process] |= parents[process].is_some_and(|parent| strange[parent]);
        }
        Self { processes, wrote, notes, parents, order, strange }
    }

    /// Who started it, if that was seen.
    pub(crate) fn parent(&self, process: usize) -> Option<usize> {
        self.parents[process]
    }

    /// All processes, parents before their children.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// The process itself, its parent, and so on to the first.
    pub(crate) fn self_and_ancestors(&self, process: usize) -> impl Iterator<Item = usize> {
        // No line is longer than all processes: a circle in a strange file ends too.
        std::iter::successors(Some(process), |&p| self.parents[p]).take(self.parents.len())
    }

    /// No part of the run started it.
    pub(crate) fn is_stranger(&self, process: usize) -> bool {
        self.strange[process]
    }

    /// The command that was run: the first process without a parent.
    pub(crate) fn command_process(&self) -> Option<usize> {
        let roots = self.order.iter().filter(|&&p| self.parents[p].is_none() && !self.strange[p]);
        roots.copied().min_by_key(|&p| (self.processes[p].started, p))
    }
}

/// Sorts parents before children; a circle is cut anywhere.
fn parents_first(parents: &[Option<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(parents.len());
    let mut placed = vec![false; parents.len()];
    let mut line = Vec::new();
    for first in 0..parents.len() {
        let mut next = Some(first);
        while let Some(process) = next.filter(|&p| !placed[p]) {
            placed[process] = true;
            line.push(process);
            next = parents[process];
        }
        order.extend(line.drain(..).rev());
    }
    order
}

/// A task as an engine claims it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClaimedTask {
    /// Process, rule or program.
    pub(crate) name: String,
    /// Which engine.
    pub(crate) engine: &'static str,
    /// What tells it from others of its name.
    pub(crate) key: Option<String>,
    /// It only starts others.
    pub(crate) driver: bool,
    /// No task: what no part of the run started.
    pub(crate) others: bool,
    /// Start, if the engine says so.
    pub(crate) started: Option<Micros>,
    /// End, if the engine says so.
    pub(crate) ended: Option<Micros>,
    /// Status, if the engine says so.
    pub(crate) exit_status: Option<i64>,
}

/// Tasks, and which process belongs to which.
#[derive(Debug)]
pub(crate) struct TaskClaims {
    /// All tasks.
    pub(crate) tasks: Vec<ClaimedTask>,
    /// The task of each process, as a place in `tasks`.
    pub(crate) of: Vec<Option<usize>>,
}

impl TaskClaims {
    /// Nothing is claimed.
    pub(crate) fn new(seen: &ObservedRun) -> Self {
        Self { tasks: Vec::new(), of: vec![None; seen.processes.len()] }
    }

    /// Adds a task.
    pub(crate) fn add_task(&mut self, task: ClaimedTask) -> usize {
        self.tasks.push(task);
        self.tasks.len() - 1
    }

    /// Gives each unclaimed process below a top to that top's task: the nearest top counts.
    /// `tops` maps processes to tasks.
    pub(crate) fn claim_subtrees(&mut self, seen: &ObservedRun, tops: &HashMap<usize, usize>) {
        let mut inherited: Vec<Option<usize>> = vec![None; self.of.len()];
        for &process in seen.order() {
            let from_parent = seen.parent(process).and_then(|parent| inherited[parent]);
            inherited[process] = tops.get(&process).copied().or(from_parent);
            if self.of[process].is_none() {
                self.of[process] = inherited[process];
            }
        }
    }
}
