//! What steps do to files: room, bytes, and the price of both where the files are at that moment.

use super::{Held, Running, Sim, StepWork, Watch};
use crate::scene::{LANES, NotPossible};
use crate::share::Flows;
use crate::simulate::Seen;
use forebay_model::workload::{Access, FileSetId, TaskId};
use forebay_model::{ByteCount, Seconds};

impl<F: Flows, W: Watch> Sim<'_, '_, F, W> {
    /// Prices every step as if nothing spilled: most never find it otherwise.
    pub(super) fn price_all(&mut self) {
        let speed = self.scene.nodes.speed;
        let mut number = 0;
        for task in &self.scene.workload.tasks {
            for step in &task.steps {
                let first = self.scene.first_access[number] as usize;
                self.cost.start(step.compute.get() / speed);
                for (offset, access) in step.accesses.iter().enumerate() {
                    let set = self.scene.accesses[first + offset].set;
                    let home =
                        &self.homes.of_class[self.scene.workload.files[set as usize].class.index()];
                    let row =
                        if self.scene.made[set as usize] { home.row } else { self.homes.project };
                    let storage = self.scene.tiers[row].storage;
                    self.cost.add((self.scene, &self.lanes), home, storage, access, 1.0);
                }
                self.works.push(StepWork {
                    shape: self.shapes.of(self.cost.alone, &self.cost.asks, &self.lanes.limited),
                    alone: self.cost.alone,
                    compute: self.cost.compute,
                    varies: false,
                });
                number += 1;
            }
        }
    }

    /// Inputs are in place from the start.
    pub(super) fn hold_inputs(&mut self) {
        let sets = self.scene.workload.files.iter().zip(&self.scene.made);
        let inputs = sets.filter(|(_, made)| !**made).map(|(files, _)| files.bytes.get());
        let bytes = inputs.fold(0, u64::saturating_add);
        self.used[self.homes.project].take(0, bytes);
        for storage in 0..self.scene.storages.len() {
            self.filled(storage);
        }
    }

    /// Tells the flows how full a storage is.
    fn filled(&mut self, storage: usize) {
        let behind = &self.scene.storages[storage];
        let Some(contention) = behind.profile.map(|profile| profile.contention) else { return };
        if contention.fill == 0.0 && contention.streams == 0.0 {
            return;
        }
        let rows = self.scene.tiers.iter().zip(&self.used);
        let bytes: u64 =
            rows.filter(|(row, _)| row.storage == storage).map(|(_, used)| used.bytes).sum();
        let nodes = if behind.reach == forebay_model::Reach::Node { self.choice.nodes } else { 1 };
        let fill =
            behind.capacity.map_or(0.0, |has| bytes as f64 / (has as f64 * f64::from(nodes)));
        let slots = f64::from(self.choice.nodes) * f64::from(self.choice.slots);
        self.flows.contend(storage, contention.fill * fill.min(1.0), contention.streams / slots);
    }

    fn held(&self, pipeline: u32, set: u32) -> usize {
        pipeline as usize * self.scene.workload.files.len() + set as usize
    }

    /// A step begins: takes room for what it writes, counts its bytes, and says what it costs.
    pub(super) fn enter(&mut self, running: Running, step: u32) -> Result<StepWork, NotPossible> {
        let (pipeline, task) = self.of(running.run);
        let scene = self.scene;
        let accesses = &scene.workload.tasks[task as usize].steps[running.step as usize].accesses;
        let first = scene.first_access[step as usize] as usize;
        for offset in 0..accesses.len() {
            let row = scene.accesses[first + offset];
            if row.grows > 0 {
                self.grow(running, row.set, row.grows)?;
            }
        }
        let mut work = self.works[step as usize];
        let varies = work.varies || self.spilled;
        if varies {
            self.cost.start(work.compute);
        }
        for (offset, access) in accesses.iter().enumerate() {
            let row = scene.accesses[first + offset];
            self.touch((pipeline, row.set), access, row.operations, varies);
        }
        if varies {
            work.alone = self.cost.alone;
            work.shape = self.shapes.of(self.cost.alone, &self.cost.asks, &self.lanes.limited);
        }
        Ok(work)
    }

    /// Counts an access where its files are, and prices it if that is not done yet.
    fn touch(
        &mut self,
        (pipeline, set): (u32, u32),
        access: &Access,
        operations: f64,
        price: bool,
    ) {
        let scene = self.scene;
        let class = scene.workload.files[set as usize].class.index();
        let home = self.homes.of_class[class];
        let made = scene.made[set as usize];
        let held = if made { self.held[self.held(pipeline, set)] } else { Held::default() };
        let row = if made { home.row } else { self.homes.project };
        let away = match (home.spill, held.spilled) {
            (Some(row), spilled) if spilled > 0 => {
                Some((row, spilled as f64 / (held.home + spilled) as f64))
            }
            _ => None,
        };
        let share = away.map_or(0.0, |(_, share)| share);
        let part = |bytes: ByteCount| ByteCount((bytes.get() as f64 * share) as u64);
        let (read, written) = (part(access.read), part(access.written));
        if let Some((row, share)) = away {
            let tier = &mut self.tiers[row];
            tier.read_bytes += read;
            tier.written_bytes += written;
            tier.operations += operations * share;
            if price {
                self.cost.add((scene, &self.lanes), &home, scene.tiers[row].storage, access, share);
            }
        }
        let tier = &mut self.tiers[row];
        tier.read_bytes += access.read - read;
        tier.written_bytes += access.written - written;
        tier.operations += operations * (1.0 - share);
        if price {
            self.cost.add(
                (scene, &self.lanes),
                &home,
                scene.tiers[row].storage,
                access,
                1.0 - share,
            );
        }
    }

    /// Takes room for files that grow.
    fn grow(&mut self, running: Running, set: u32, bytes: u64) -> Result<(), NotPossible> {
        let (pipeline, task) = self.of(running.run);
        let place = self.held(pipeline, set);
        let class = self.scene.workload.files[set as usize].class.index();
        let home = self.homes.of_class[class];
        if self.policy.admission == crate::policies::Admission::Peak {
            self.used[home.row].promised -= bytes;
        }
        self.held[place].node = running.node;
        if self.used[home.row].fits(running.node, bytes, false) {
            self.used[home.row].take(running.node, bytes);
            self.held[place].home += bytes;
            self.filled(self.scene.tiers[home.row].storage);
            return Ok(());
        }
        let tier = &self.scene.tiers[home.row].id;
        match home.spill {
            Some(row) if self.used[row].fits(running.node, bytes, false) => {
                let seen = Seen::Spilled {
                    pipeline,
                    task: TaskId(task),
                    files: FileSetId(set),
                    tier,
                    bytes: ByteCount(bytes),
                };
                self.watch.see(Seconds(self.now), &seen);
                self.used[row].take(running.node, bytes);
                self.held[place].spilled += bytes;
                self.spilled = true;
                self.filled(self.scene.tiers[row].storage);
                Ok(())
            }
            _ => Err(NotPossible(format!(
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
    pub(super) fn free(&mut self, pipeline: u32, set: u32) {
        if !self.scene.made[set as usize] {
            // Inputs are not ours to delete.
            return;
        }
        let place = self.held(pipeline, set);
        let held = std::mem::take(&mut self.held[place]);
        let home = self.homes.of_class[self.scene.workload.files[set as usize].class.index()];
        for (row, bytes) in [(Some(home.row), held.home), (home.spill, held.spilled)] {
            if let Some(row) = row.filter(|_| bytes > 0) {
                self.used[row].give(held.node, bytes);
                self.filled(self.scene.tiers[row].storage);
            }
        }
        let (files, bytes) = (FileSetId(set), ByteCount(held.home + held.spilled));
        self.watch.see(Seconds(self.now), &Seen::Freed { pipeline, files, bytes });
    }

    /// What a task writes to each tier, access by access.
    fn needs(&self, run: u32) -> impl Iterator<Item = (usize, u64)> {
        let (_, task) = self.of(run);
        let steps = self.scene.first_step[task as usize] as usize
            ..self.scene.first_step[task as usize + 1] as usize;
        let rows = self.scene.first_access[steps.start] as usize
            ..self.scene.first_access[steps.end] as usize;
        self.scene.accesses[rows].iter().filter(|row| row.grows > 0).map(|row| {
            let class = self.scene.workload.files[row.set as usize].class.index();
            (self.homes.of_class[class].row, row.grows)
        })
    }

    /// By tier, so that two sets on one tier count together.
    fn needs_by_tier(&self, run: u32) -> Vec<u64> {
        let mut all = vec![0; self.used.len()];
        for (row, bytes) in self.needs(run) {
            all[row] += bytes;
        }
        all
    }

    pub(super) fn has_room(&self, run: u32, node: u32) -> bool {
        let needs = self.needs_by_tier(run);
        needs
            .iter()
            .zip(&self.used)
            .all(|(bytes, used)| *bytes == 0 || used.fits(node, *bytes, true))
    }

    pub(super) fn promise(&mut self, run: u32) {
        let needs = self.needs_by_tier(run);
        for (used, bytes) in self.used.iter_mut().zip(needs) {
            used.promised += bytes;
        }
    }

    pub(super) fn has_room_for_pipeline(&self) -> bool {
        let pipelines = self.admitted.iter().filter(|admitted| **admitted).count() as u64 + 1;
        let mut rows = self.reserve.iter().zip(&self.homes.capacity);
        rows.all(|(needs, has)| has.is_none_or(|has| needs.saturating_mul(pipelines) <= has))
    }

    pub(super) fn lacks(&self, run: u32) -> String {
        let needs = self.needs_by_tier(run);
        let short =
            needs.iter().zip(&self.used).position(|(bytes, used)| !used.fits(0, *bytes, true));
        short.map_or("no node can take it".to_owned(), |row| {
            format!(
                "it writes {} to tier {:?}, and nothing there will be freed",
                ByteCount(needs[row]),
                self.scene.tiers[row].id.as_str()
            )
        })
    }
}

/// Four lanes for each storage are what costs and limits are counted in.
const _: () = assert!(LANES == 4);
