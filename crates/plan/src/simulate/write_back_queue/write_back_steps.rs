//! Files are taken up, carried and put down, or left where they are.

use super::write_back_workers::{WorkerId, WorkerLoad};
use crate::prepared_problem::{LANES, NAMES, READ, SimulationError, WRITE};
use crate::share::FlowEngine;
use crate::simulate::{RunningTask, Simulation, SimulationEvent, SimulationObserver};
use crate::write_back_estimate::{WriteBackLoad, WriteBackMethod};
use forebay_model::workload::FileSetId;
use forebay_model::{ByteCount, Seconds};

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// Everybody with empty hands takes what is due.
    pub(crate) fn start_due_write_backs(&mut self) -> Result<(), SimulationError> {
        while let Some((by, held)) = self.drains.carriers.take_next_due(self.now) {
            let (pipeline, set) = self.pipeline_and_set(held);
            let files = &self.scene.workload.files[set];
            let class = &self.scene.workload.classes[files.class.index()];
            let home = self.homes.of_class[files.class.index()];
            let (to, has) = (self.homes.project, self.held[held as usize]);
            let id = &self.scene.tiers[home.row].id;
            if !self.used[to].can_hold(has.node, has.home, false) {
                if self.unfinished[pipeline as usize] > 0 {
                    // The run's end tries again.
                    continue;
                }
                return Err(SimulationError(format!(
                    "after {}, there is no room in place for {} of {:?} to write back from tier {:?}",
                    Seconds(self.now),
                    ByteCount(has.home),
                    self.scene.workload.classes[files.class.index()].pattern,
                    id.as_str()
                )));
            }
            self.used[to].allocate_bytes(has.node, has.home);
            let target = self.scene.tiers[to].storage;
            self.update_contention(target);
            let (from, into) = (self.scene.tiers[home.row].storage * LANES, target * LANES);
            let bytes = has.home as f64;
            let storage = &self.scene.storages[target];
            let way =
                WriteBackMethod::for_placement(home.layout, storage.reach, self.cost.own.is_some());
            let byte = self.lanes.copy_seconds_per_byte(from, into);
            let load = WriteBackLoad {
                bytes,
                files: files.count,
                waiting: self.files_that_wait_with(by, files.count),
                one_by_one: files.count as f64 * self.drains.one_by_one_share(pipeline, class),
            };
            self.cost.reset_to_compute(way.uncontended_seconds(load, byte, storage.profile));
            self.cost.asks[from + READ] += bytes;
            self.cost.asks[into + WRITE] += bytes;
            self.cost.asks[into + NAMES] += way.metadata_operations(files.count);
            let shape =
                self.shapes.intern_demands(self.cost.alone, &self.cost.asks, &self.lanes.limited);
            let flow = self.allocate_flow(RunningTask { node: has.node, ..RunningTask::default() });
            self.drains.carriers.start_carrying(by, WorkerLoad { held, flow, bytes: has.home });
            self.flows.start_flow(self.now, flow, has.node, shape, self.cost.alone, &self.shapes);
            let seen = SimulationEvent::Leaves {
                pipeline,
                files: FileSetId(set as u32),
                tier: id,
                node: has.node,
                bytes: ByteCount(has.home),
            };
            self.watch.on_event(Seconds(self.now), &seen);
        }
        Ok(())
    }

    /// So many files, and those that wait for the same carrier, as far as it matters.
    fn files_that_wait_with(&self, by: WorkerId, files: u64) -> u64 {
        const MANY: u64 = 16;
        let mut all = files;
        for held in self.drains.carriers.queued_sets(by) {
            if all >= MANY || self.cost.own.is_none() {
                break;
            }
            all += self.scene.workload.files[self.pipeline_and_set(held).1].count;
        }
        all
    }

    /// Whether a flow that is done carried files, which are home now.
    pub(crate) fn finish_write_back(&mut self, flow: u32) -> Result<bool, SimulationError> {
        let Some((_, load)) = self.drains.carriers.finish_carrying(flow) else { return Ok(false) };
        self.spare.push(flow);
        let (pipeline, set) = self.pipeline_and_set(load.held);
        let files = &self.scene.workload.files[set];
        let (row, to) = (self.homes.of_class[files.class.index()].row, self.homes.project);
        let held = &mut self.held[load.held as usize];
        held.home -= load.bytes;
        held.in_place += load.bytes;
        self.used[row].release_bytes(held.node, load.bytes);
        self.update_contention(self.scene.tiers[row].storage);
        // Tasks that still come find them in place.
        self.spilled |= self.unfinished[pipeline as usize] > 0;
        let bytes = ByteCount(load.bytes);
        self.tiers[row].read_bytes += bytes;
        self.tiers[row].drained_bytes += bytes;
        self.tiers[to].written_bytes += bytes;
        let way = {
            let layout = self.homes.of_class[files.class.index()].layout;
            WriteBackMethod::for_placement(
                layout,
                self.scene.tiers[to].reach,
                self.cost.own.is_some(),
            )
        };
        self.tiers[to].operations += way.metadata_operations(files.count);
        self.drains.last = self.now;
        let tier = &self.scene.tiers[row].id;
        let seen = SimulationEvent::Landed { pipeline, files: FileSetId(set as u32), tier, bytes };
        self.watch.on_event(Seconds(self.now), &seen);
        self.start_due_write_backs()?;
        Ok(true)
    }

    /// Files are used again, or deleted: whoever carries them stops, and the copy is gone.
    pub(crate) fn cancel_write_back(&mut self, held: u32) {
        let Some(load) = self.drains.carriers.cancel_set(held) else { return };
        let Some(load) = load else { return };
        self.flows.stop_flow(self.now, load.flow, &self.shapes);
        self.spare.push(load.flow);
        self.used[self.homes.project].release_bytes(self.held[held as usize].node, load.bytes);
        self.update_contention(self.scene.tiers[self.homes.project].storage);
        let (pipeline, set) = self.pipeline_and_set(held);
        let seen = SimulationEvent::Stays { pipeline, files: FileSetId(set as u32) };
        self.watch.on_event(Seconds(self.now), &seen);
    }
}
