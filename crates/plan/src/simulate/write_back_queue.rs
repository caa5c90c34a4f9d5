//! Files on their way home: from the tier where a rule had them to the directory where their names
//! are, when their run ends, or while it goes on, some moments after their last close.
//!
//! Each pipeline is a run of its own, with one who carries on each node: one set of files after the
//! other, as a flow beside those of tasks. What it is not: `publish`, which copies.

mod write_back_steps;
mod write_back_workers;

use super::{RunningTask, Simulation, SimulationObserver};
use crate::prepared_problem::{ResolvedChoice, SimulationError};
use crate::share::FlowEngine;
use forebay_model::workload::{DeletionPoint, FileClass};
use forebay_model::{ByteCount, WriteBackTrigger};
use std::collections::BTreeMap;
use write_back_workers::WriteBackWorkers;

/// So many seconds after its last close a file stays where it is: many are opened again at once.
const SETTLE: f64 = 2.0;

/// All that is on its way, and what is still open.
#[derive(Clone, Debug)]
pub(super) struct WriteBackQueue {
    carriers: WriteBackWorkers,
    /// How many running steps have a held set open; empty where nothing comes home before the end.
    open: Vec<u32>,
    /// Of each pipeline that is done: of a file that comes home, for which part all others wait.
    one_by_one: BTreeMap<u32, f64>,
    /// When the last files landed.
    pub(super) last: f64,
}

impl WriteBackQueue {
    pub(super) fn new(homes: &ResolvedChoice, held: usize) -> Self {
        let closed = homes.of_class.iter().any(|home| home.comes == Some(WriteBackTrigger::Closed));
        let open = vec![0; if closed { held } else { 0 }];
        Self { carriers: WriteBackWorkers::default(), open, one_by_one: BTreeMap::new(), last: 0.0 }
    }

    /// Of a file of this class, for which part others wait: files of one directory get their names one
    /// after the other.
    fn one_by_one_share(&self, pipeline: u32, class: &FileClass) -> f64 {
        let alone = match class.directories {
            0 => 0.0,
            directories => 1.0 / directories as f64,
        };
        self.one_by_one.get(&pipeline).copied().unwrap_or(alone)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.carriers.are_idle()
    }

    pub(super) fn next_due_time(&self) -> f64 {
        self.carriers.next_due_time()
    }
}

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// A step opens its files: those that were to go home stay.
    pub(super) fn open_step_files(&mut self, running: RunningTask) {
        for held in self.open_sets_of_step(running) {
            self.drains.open[held as usize] += 1;
            self.cancel_write_back(held);
        }
    }

    /// A step closes its files: those that nobody else has open go home.
    pub(super) fn close_step_files(&mut self, running: RunningTask) -> Result<(), SimulationError> {
        for held in self.open_sets_of_step(running) {
            self.drains.open[held as usize] -= 1;
            let open = self.drains.open[held as usize];
            let (pipeline, set) = self.pipeline_and_set(held);
            let home = self.homes.of_class[self.scene.workload.files[set].class.index()];
            let has = self.held[held as usize];
            if open > 0 || has.home == 0 || home.comes != Some(WriteBackTrigger::Closed) {
                continue;
            }
            // A tier that is half full is in a hurry.
            let hurry = self.used[home.row].is_half_full(has.node);
            let due = self.now + if hurry { 0.0 } else { SETTLE };
            self.drains.carriers.enqueue_set((pipeline, has.node), held, due);
        }
        self.start_due_write_backs()
    }

    /// A pipeline is done: all that it left goes home.
    pub(super) fn write_back_pipeline(&mut self, pipeline: u32) -> Result<(), SimulationError> {
        self.drains.carriers.expedite_pipeline(pipeline, self.now);
        let mut arrivals = DirectoryArrivals::default();
        for held in self.held_sets_of_pipeline(pipeline) {
            let (_, set) = self.pipeline_and_set(held);
            let files = &self.scene.workload.files[set];
            let home = self.homes.of_class[files.class.index()];
            let has = self.held[held as usize];
            let are_empty = self.scene.made[set]
                && files.bytes == ByteCount::ZERO
                && files.until == DeletionPoint::End;
            if (has.home > 0 || are_empty) && home.comes.is_some() {
                self.drains.carriers.enqueue_set((pipeline, has.node), held, self.now);
                arrivals.add_files(&self.scene.workload.classes[files.class.index()], files.count);
            }
        }
        self.drains.one_by_one.insert(pipeline, arrivals.one_by_one_share());
        self.start_due_write_backs()
    }

    /// Whether files of a pipeline are on their way.
    pub(super) fn is_writing_back(&self, pipeline: u32) -> bool {
        self.drains.carriers.carries_any_of(self.held_sets_of_pipeline(pipeline))
    }

    /// What a running step has open, where that matters.
    fn open_sets_of_step(&self, running: RunningTask) -> Vec<u32> {
        if self.drains.open.is_empty() {
            return Vec::new();
        }
        let (pipeline, task) = self.pipeline_and_task(running.run);
        let step = (self.scene.first_step[task as usize] + running.step) as usize;
        let rows =
            self.scene.first_access[step] as usize..self.scene.first_access[step + 1] as usize;
        let sets = self.scene.accesses[rows].iter().map(|row| row.set);
        let made = sets.filter(|set| self.scene.made[*set as usize]);
        made.map(|set| self.held_index(pipeline, set) as u32).collect()
    }

    /// The pipeline and the set of a place among those that are held.
    fn pipeline_and_set(&self, held: u32) -> (u32, usize) {
        let sets = self.scene.workload.files.len() as u32;
        (held / sets, (held % sets) as usize)
    }

    fn held_sets_of_pipeline(&self, pipeline: u32) -> std::ops::Range<u32> {
        let sets = self.scene.workload.files.len() as u32;
        pipeline * sets..(pipeline + 1) * sets
    }
}

/// Files that come home together, by the directories that they come to.
#[derive(Default)]
struct DirectoryArrivals<'a> {
    files: u64,
    /// By the pattern of the directories: files that come there, and how many directories these are;
    /// 0: not known.
    of_parent: BTreeMap<&'a str, (u64, u64)>,
}

impl<'a> DirectoryArrivals<'a> {
    fn add_files(&mut self, class: &'a FileClass, files: u64) {
        let parent = self.of_parent.entry(class.parent_pattern()).or_default();
        parent.0 += files;
        parent.1 = parent.1.max(class.directories);
        self.files += files;
    }

    /// The directory that gets most makes all wait: its files, as a part of all.
    fn one_by_one_share(&self) -> f64 {
        let known = self.of_parent.values().filter(|(_, directories)| *directories > 0);
        let most = known.map(|(files, directories)| *files as f64 / *directories as f64);
        most.fold(0.0, f64::max) / self.files.max(1) as f64
    }
}
