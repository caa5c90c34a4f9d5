//! What steps cost where their files are: once for all that stay where the choice wants them, and
//! at the moment for those that spilled or have copies nearer by.

use super::cached_copies::NearestCopy;
use super::{HeldFiles, RunningTask, Simulation, SimulationObserver, StepWork};
use crate::prepared_problem::SimulationError;
use crate::share::FlowEngine;
use forebay_model::workload::FileSetAccess;
use forebay_model::{ByteCount, Op};

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// Prices every step as if nothing spilled: most never find it otherwise.
    pub(super) fn price_all_steps(&mut self) {
        let speed = self.scene.nodes.speed;
        let mut number = 0;
        for task in &self.scene.workload.tasks {
            for step in &task.steps {
                let first = self.scene.first_access[number] as usize;
                self.cost.reset_to_compute(step.compute.get() / speed);
                let mut varies = self.scene.nodes.memory.is_some();
                for (offset, access) in step.accesses.iter().enumerate() {
                    let set = self.scene.accesses[first + offset].set;
                    let home =
                        &self.homes.of_class[self.scene.workload.files[set as usize].class.index()];
                    let row =
                        if self.scene.made[set as usize] { home.row } else { self.homes.project };
                    varies |= home.cache.is_some();
                    let storage = self.scene.tiers[row].storage;
                    self.cost.add_access(
                        (self.scene, &self.lanes),
                        home,
                        storage,
                        access,
                        1.0,
                        0.0,
                    );
                }
                self.works.push(StepWork {
                    shape: self.shapes.intern_demands(
                        self.cost.alone,
                        &self.cost.asks,
                        &self.lanes.limited,
                    ),
                    alone: self.cost.alone,
                    compute: self.cost.compute,
                    varies,
                });
                number += 1;
            }
        }
    }

    /// A step begins: takes room for what it writes, counts its bytes, and says what it costs.
    pub(super) fn begin_step(
        &mut self,
        flow: u32,
        running: RunningTask,
        step: u32,
    ) -> Result<StepWork, SimulationError> {
        let (pipeline, task) = self.pipeline_and_task(running.run);
        let scene = self.scene;
        let accesses = &scene.workload.tasks[task as usize].steps[running.step as usize].accesses;
        let first = scene.first_access[step as usize] as usize;
        self.open_step_files(running);
        for offset in 0..accesses.len() {
            let row = scene.accesses[first + offset];
            if row.grows > 0 {
                self.grow_files(running, row.set, row.grows)?;
            }
        }
        let mut work = self.works[step as usize];
        let varies = work.varies || self.spilled;
        if varies {
            self.cost.reset_to_compute(work.compute);
        }
        for (offset, access) in accesses.iter().enumerate() {
            let row = scene.accesses[first + offset];
            let near = if work.varies {
                self.locate_files(flow, running, row.set, access)
            } else {
                NearestCopy::default()
            };
            self.count_access((pipeline, row.set), access, row.operations, varies, near);
        }
        if varies {
            work.alone = self.cost.alone;
            work.shape =
                self.shapes.intern_demands(self.cost.alone, &self.cost.asks, &self.lanes.limited);
        }
        Ok(work)
    }

    /// Counts an access where its files are, and prices it if that is not done yet.
    fn count_access(
        &mut self,
        (pipeline, set): (u32, u32),
        access: &FileSetAccess,
        operations: f64,
        price: bool,
        near: NearestCopy,
    ) {
        let scene = self.scene;
        let class = scene.workload.files[set as usize].class.index();
        let home = self.homes.of_class[class];
        let made = scene.made[set as usize];
        let held =
            if made { self.held[self.held_index(pipeline, set)] } else { HeldFiles::default() };
        let row = match near.copy {
            Some(row) => row,
            None if made => home.row,
            None => self.homes.project,
        };
        let away = (held.in_place > 0).then(|| {
            let share = held.in_place as f64 / (held.home + held.in_place) as f64;
            (self.homes.project, share)
        });
        let share = away.map_or(0.0, |(_, share)| share);
        let remembered = near.remembered;
        let (mut part, mut operations) = ((access.read, access.written), operations);
        if remembered > 0.0 {
            let reads = access.ops.iter().filter(|(key, _)| key.op() == Op::Read);
            let reads: f64 = reads.map(|(_, count)| count * remembered).sum();
            let bytes = ByteCount((access.read.get() as f64 * remembered) as u64);
            // Without memory a copy would answer, where there is one.
            let tier = &mut self.tiers[home.cache.map_or(row, |(row, _)| row)];
            tier.memory_bytes += bytes;
            tier.memory_operations += reads;
            part.0 = part.0 - bytes;
            operations -= reads;
        }
        if let Some((row, share)) = away {
            let of = |bytes: ByteCount| ByteCount((bytes.get() as f64 * share) as u64);
            let (read, written) = (of(part.0), of(part.1));
            part = (part.0 - read, part.1 - written);
            let tier = &mut self.tiers[row];
            tier.read_bytes += read;
            tier.written_bytes += written;
            tier.operations += operations * share;
            if price {
                let storage = scene.tiers[row].storage;
                self.cost.add_access(
                    (scene, &self.lanes),
                    &home,
                    storage,
                    access,
                    share,
                    remembered,
                );
            }
        }
        let tier = &mut self.tiers[row];
        tier.read_bytes += part.0;
        tier.written_bytes += part.1;
        tier.operations += operations * (1.0 - share);
        if price {
            let storage = scene.tiers[row].storage;
            self.cost.add_access(
                (scene, &self.lanes),
                &home,
                storage,
                access,
                1.0 - share,
                remembered,
            );
        }
    }
}
