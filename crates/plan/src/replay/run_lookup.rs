//! What a run tells, looked up once: whose open was whose, and which names files had when.

use super::replay_paths::ReplayPath;
use super::{TurnByTask, turns_by_task};
use crate::learn::task_sequence::TaskSequence;
use crate::loaded_run::LoadedRun;
use forebay_model::run::OpenRow;
use forebay_model::{ClassId, FileId, Op};
use std::collections::BTreeMap;

/// Where an act belongs: a task's turn, or `None`: the engine and its shells.
pub(super) type Owner = Option<usize>;

#[derive(Debug)]
pub(super) struct RunLookup<'a> {
    pub(super) rows: &'a LoadedRun,
    /// In the order of opening.
    pub(super) opens: &'a [OpenRow],
    pub(super) turns: &'a TaskSequence,
    pub(super) places: TurnByTask,
    /// By place in `rows.files`.
    pub(super) names: Vec<ReplayPath>,
    /// Operations by owner and class; those of nobody are the kernel's own.
    pub(super) ops: BTreeMap<(Owner, ClassId), BTreeMap<Op, u64>>,
    /// Of the reads and of the writes of an owner to a class: (anywhere, all).
    pub(super) random: BTreeMap<(Owner, ClassId, Op), (u64, u64)>,
    /// Operations of kinds that this Forebay does not know.
    pub(super) strange: u64,
    /// Files that got another name, when, and by whom.
    pub(super) renamed: Vec<(usize, f64, Owner)>,
    /// Renames for which there is no file.
    pub(super) unrenamed: u64,
    files: BTreeMap<FileId, usize>,
}

impl<'a> RunLookup<'a> {
    pub(super) fn from_rows(
        rows: &'a LoadedRun,
        opens: &'a [OpenRow],
        turns: &'a TaskSequence,
    ) -> Self {
        let mut told = Self {
            rows,
            opens,
            turns,
            places: turns_by_task(&turns.all),
            names: ReplayPath::all_from_rows(rows),
            ops: BTreeMap::new(),
            random: BTreeMap::new(),
            strange: 0,
            renamed: Vec::new(),
            unrenamed: 0,
            files: rows.files.iter().enumerate().map(|(at, file)| (file.id, at)).collect(),
        };
        told.count_operations();
        told
    }

    fn count_operations(&mut self) {
        for row in &self.rows.ops {
            let Some(task) = row.task else { continue };
            let owner = self.places.get(&task).copied();
            let Some(op) = row.kind.op() else {
                self.strange += row.count;
                continue;
            };
            let counts = self.ops.entry((owner, row.class)).or_default();
            *counts.entry(op).or_default() += row.count;
            if let Some(pattern) = row.kind.pattern_name() {
                let (random, all) = self.random.entry((owner, row.class, op)).or_default();
                *random += if pattern == "random" { row.count } else { 0 };
                *all += row.count;
            }
        }
    }

    pub(super) fn owner_of_open(&self, open: &OpenRow) -> Owner {
        open.task.and_then(|task| self.places.get(&task).copied())
    }

    /// The place of an open's file; a file of a run that was cut short may have no name.
    pub(super) fn file_of_open(&self, open: &OpenRow) -> Option<usize> {
        self.files.get(&open.open.file).copied()
    }

    pub(super) fn class_of_file(&self, file: usize) -> ClassId {
        self.rows.files[file].class
    }

    /// From when to when an owner was there, in seconds.
    pub(super) fn owner_span(&self, owner: Owner) -> (f64, f64) {
        match owner {
            Some(turn) => (self.turns.all[turn].start, self.turns.all[turn].end),
            None => (0.0, self.turns.makespan),
        }
    }

    /// When an open was closed: at the end of its owner, if nobody saw it.
    pub(super) fn close_time(&self, open: &OpenRow) -> f64 {
        let opened = open.open.opened.as_secs();
        let end = || self.owner_span(self.owner_of_open(open)).1;
        open.open.closed.map_or_else(end, |at| at.as_secs()).max(opened)
    }
}
