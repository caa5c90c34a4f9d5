//! One run as panels look at it: its rows by number, and its open files added up once.

mod commands;
mod open_summary;
mod open_totals;

use std::collections::HashMap;

use forebay_model::run::{OpRow, TaskRow};
use forebay_model::{
    ClassId, DirectoryTree, FileId, FileRecord, Header, MachineTimeline, Micros, Result, Run,
    Summary, TreeId, align_machines,
};

use super::bins::TimeBins;
use super::inputs::RunInput;
use crate::commands::explain::file_lifetimes::{self, FileLifetime};
pub(super) use open_totals::{FileTotals, OpenTotals, TaskFileTotals};

/// Files of at most so many bytes are small: storage is asked for their names more than for bytes.
pub(super) const SMALL: u64 = 64 << 10;

/// One run.
#[derive(Debug)]
pub(super) struct IndexedRun {
    pub(super) label: String,
    pub(super) group: String,
    pub(super) header: Header,
    pub(super) summary: Summary,
    /// To the end of the command, or of what went on after it.
    pub(super) span: Micros,
    pub(super) bins: TimeBins,
    pub(super) tasks: Vec<TaskRow>,
    /// Name, and whether it only starts others; costliest first, drivers last.
    pub(super) names: Vec<(String, bool)>,
    name_of: HashMap<u32, usize>,
    pub(super) trees: Vec<DirectoryTree>,
    pub(super) classes: Vec<String>,
    class_at: HashMap<ClassId, usize>,
    files: Vec<FileRecord>,
    pub(super) gone: HashMap<FileId, Micros>,
    pub(super) ops: Vec<OpRow>,
    /// Those that were looked at while it lasted, its own first.
    pub(super) machines: Vec<MachineTimeline>,
    /// The words of a task's first process.
    pub(super) commands: HashMap<u32, Vec<Vec<u8>>>,
    pub(super) opened: OpenTotals,
    /// What each file went through.
    pub(super) lives: HashMap<FileId, FileLifetime>,
}

impl IndexedRun {
    /// Reads all that a report shows of a run, with what was sampled elsewhere meanwhile.
    ///
    /// # Errors
    /// Those of the run file.
    pub(super) fn read_input(input: &RunInput, samples: &[Run]) -> Result<Self> {
        let run = Run::open(&input.file)?;
        let summary = Summary::from_run(&run)?;
        let (tasks, trees) = (run.tasks()?, run.trees()?);
        let mut machines = align_machines(&run, samples)?;
        let times = tasks.iter().flat_map(|task| [task.started, task.ended]).flatten();
        let times = times.chain(machines[0].samples.iter().map(|sample| sample.at));
        let span = times.chain([summary.wall_us]).max().unwrap_or_default();
        let bins = TimeBins::for_span(span);
        machines.retain(|machine| !machine.samples.is_empty());
        let names: Vec<(String, bool)> =
            summary.tasks.iter().map(|task| (task.name.clone(), task.driver)).collect();
        let by_name: HashMap<(&str, bool), usize> =
            names.iter().enumerate().map(|(at, (name, driver))| ((&**name, *driver), at)).collect();
        let name_of = tasks
            .iter()
            .filter_map(|task| Some((task.id, *by_name.get(&(&*task.name, task.driver))?)));
        let name_of = name_of.collect();
        let classes = run.classes()?;
        let class_at = classes.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect();
        // The covered directory itself has no name in its tree.
        let pattern = |pattern: String| if pattern.is_empty() { ".".to_owned() } else { pattern };
        let files = run.files()?;
        let lives =
            file_lifetimes::collect_lives(&run)?.into_iter().map(|life| (life.id, life)).collect();
        let opened = OpenTotals::from_run(&run, &files, &trees, bins)?;
        Ok(Self {
            label: input.label.clone(),
            group: input.group.clone(),
            header: run.header()?,
            span,
            bins,
            name_of,
            classes: classes.into_iter().map(|(_, class)| pattern(class)).collect(),
            class_at,
            gone: run.removal_times()?.into_iter().collect(),
            ops: run.operation_rows()?,
            commands: commands::commands_by_task(&run.processes()?),
            summary,
            tasks,
            names,
            trees,
            files,
            machines,
            opened,
            lives,
        })
    }

    /// The place of a task's name; -1: nobody is known.
    pub(super) fn name_index(&self, task: Option<u32>) -> i64 {
        task.and_then(|task| self.name_of.get(&task)).map_or(-1, |at| *at as i64)
    }

    /// The place of a tree.
    pub(super) fn tier_index(&self, tree: TreeId) -> i64 {
        self.trees.iter().position(|known| known.id == tree).map_or(-1, |at| at as i64)
    }

    /// The place of a class.
    pub(super) fn class_index(&self, class: ClassId) -> i64 {
        self.class_at.get(&class).map_or(-1, |at| *at as i64)
    }

    pub(super) fn file_by_id(&self, id: FileId) -> Option<&FileRecord> {
        self.files.binary_search_by_key(&id, |file| file.id).ok().map(|at| &self.files[at])
    }

    /// What a rule calls a tree.
    pub(super) fn tier_name(tree: &DirectoryTree) -> &str {
        tree.tier.as_deref().unwrap_or("here")
    }

    /// How much a tier may take, if its site said so.
    pub(super) fn capacity_limit(&self, tree: &DirectoryTree) -> Option<u64> {
        self.header.capacity(tree.tier.as_ref()?).map(|bytes| bytes.0)
    }

    /// From when to when a task went on, if its start is known.
    pub(super) fn task_times(&self, task: &TaskRow) -> Option<(Micros, Micros)> {
        let from = task.started?;
        Some((from, task.ended.unwrap_or(self.span).max(from)))
    }
}
