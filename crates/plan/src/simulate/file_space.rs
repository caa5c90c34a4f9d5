//! The room of files: taken as they grow, at home or where they spill, and given back.

use super::{RunningTask, Simulation, SimulationObserver};
use crate::policies::Admission;
use crate::prepared_problem::SimulationError;
use crate::share::FlowEngine;
use crate::simulate::SimulationEvent;
use forebay_model::workload::{FileSetId, TaskId};
use forebay_model::{ByteCount, Reach, Seconds};

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// Inputs are in place from the start.
    pub(super) fn place_inputs(&mut self) {
        let sets = self.scene.workload.files.iter().zip(&self.scene.made);
        let inputs = sets.filter(|(_, made)| !**made).map(|(files, _)| files.bytes.get());
        let bytes = inputs.fold(0, u64::saturating_add);
        self.used[self.homes.project].allocate_bytes(0, bytes);
        for storage in 0..self.scene.storages.len() {
            self.update_contention(storage);
        }
    }

    /// Tells the flows how full a storage is.
    pub(super) fn update_contention(&mut self, storage: usize) {
        let behind = &self.scene.storages[storage];
        let Some(contention) = behind.profile.map(|profile| profile.contention) else { return };
        if contention.is_none() {
            return;
        }
        let rows = self.scene.tiers.iter().zip(&self.used);
        let bytes: u64 =
            rows.filter(|(row, _)| row.storage == storage).map(|(_, used)| used.bytes).sum();
        let nodes = if behind.reach == Reach::Node { self.choice.nodes } else { 1 };
        let fill =
            behind.capacity.map_or(0.0, |has| bytes as f64 / (has as f64 * f64::from(nodes)));
        let slots = f64::from(self.choice.nodes) * f64::from(self.choice.slots);
        self.flows.set_contention(
            storage,
            contention.cost_growth(fill),
            contention.streams / slots,
        );
    }

    pub(super) fn held_index(&self, pipeline: u32, set: u32) -> usize {
        pipeline as usize * self.scene.workload.files.len() + set as usize
    }

    /// Takes room for files that grow.
    pub(super) fn grow_files(
        &mut self,
        running: RunningTask,
        set: u32,
        bytes: u64,
    ) -> Result<(), SimulationError> {
        let (pipeline, task) = self.pipeline_and_task(running.run);
        let place = self.held_index(pipeline, set);
        let class = self.scene.workload.files[set as usize].class.index();
        let home = self.homes.of_class[class];
        if self.policy.admission == Admission::Peak {
            self.used[home.row].promised -= bytes;
        }
        self.held[place].node = running.node;
        // Files that live on a tier come before copies.
        let at = (home.row, self.place_on_tier(home.row, running.node));
        if self.evict_to_fit(at, running.node, bytes, true) {
            self.used[home.row].allocate_bytes(running.node, bytes);
            self.held[place].home += bytes;
            self.update_contention(self.scene.tiers[home.row].storage);
            return Ok(());
        }
        let tier = &self.scene.tiers[home.row].id;
        match home.spill {
            Some(row) if self.used[row].can_hold(running.node, bytes, false) => {
                let seen = SimulationEvent::Spilled {
                    pipeline,
                    task: TaskId(task),
                    files: FileSetId(set),
                    tier,
                    bytes: ByteCount(bytes),
                };
                self.watch.on_event(Seconds(self.now), &seen);
                self.used[row].allocate_bytes(running.node, bytes);
                self.held[place].in_place += bytes;
                self.spilled = true;
                self.update_contention(self.scene.tiers[row].storage);
                Ok(())
            }
            _ => Err(SimulationError(format!(
                "after {}, tier {:?} has no room for the {} that task {:?} of pipeline {} writes to {:?}",
                Seconds(self.now),
                tier.as_str(),
                ByteCount(bytes),
                self.scene.workload.kinds[self.scene.workload.tasks[task as usize].kind.index()]
                    .name,
                pipeline + 1,
                self.scene.workload.classes[class].pattern,
            ))),
        }
    }

    /// Gives the room of files back.
    pub(super) fn free_files(&mut self, pipeline: u32, set: u32) {
        if !self.scene.made[set as usize] {
            // Inputs are not ours to delete.
            return;
        }
        let place = self.held_index(pipeline, set);
        self.cancel_write_back(place as u32);
        let held = std::mem::take(&mut self.held[place]);
        let home = self.homes.of_class[self.scene.workload.files[set as usize].class.index()];
        for (row, bytes) in [(home.row, held.home), (self.homes.project, held.in_place)] {
            if bytes > 0 {
                self.used[row].release_bytes(held.node, bytes);
                self.update_contention(self.scene.tiers[row].storage);
            }
        }
        self.drop_copies(place as u32);
        let (files, bytes) = (FileSetId(set), ByteCount(held.home + held.in_place));
        self.watch.on_event(Seconds(self.now), &SimulationEvent::Freed { pipeline, files, bytes });
    }
}
