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
use forebay_model::workload::DeletionPoint;
use forebay_model::{ByteCount, WriteBackTrigger};
use write_back_workers::WriteBackWorkers;

/// So many seconds after its last close a file stays where it is: many are opened again at once.
const SETTLE: f64 = 2.0;

/// All that is on its way, and what is still open.
#[derive(Clone, Debug)]
pub(super) struct WriteBackQueue {
    carriers: WriteBackWorkers,
    /// How many running steps have a held set open; empty where nothing comes home before the end.
    open: Vec<u32>,
    /// When the last files landed.
    pub(super) last: f64,
}

impl WriteBackQueue {
    pub(super) fn new(homes: &ResolvedChoice, held: usize) -> Self {
        let closed = homes.of_class.iter().any(|home| home.comes == Some(WriteBackTrigger::Closed));
        let open = vec![0; if closed { held } else { 0 }];
        Self { carriers: WriteBackWorkers::default(), open, last: 0.0 }
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
            }
        }
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
