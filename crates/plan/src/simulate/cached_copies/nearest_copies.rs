//! Where steps find their files, and what they leave for those who come.

use super::eviction_order::{CopyKey, MEMORY};
use crate::prepared_problem::cached_read_share;
use crate::share::FlowEngine;
use crate::simulate::{RunningTask, Simulation, SimulationObserver};
use forebay_model::Reach;
use forebay_model::workload::FileSetAccess;

/// Where an access finds its files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NearestCopy {
    /// The tier of a copy; `None`: they are at home.
    pub(crate) copy: Option<usize>,
    /// The part of its reads that the memory of the node answers, 0 to 1.
    pub(crate) remembered: f64,
}

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// Where a step finds these files; what is read from home may leave a copy.
    pub(crate) fn locate_files(
        &mut self,
        flow: u32,
        running: RunningTask,
        set: u32,
        access: &FileSetAccess,
    ) -> NearestCopy {
        let (pipeline, _) = self.pipeline_and_task(running.run);
        let held = self.shared_held_index(pipeline, set);
        let home = self.homes.of_class[self.scene.workload.files[set as usize].class.index()];
        let only_reads = access.written.get() == 0 && access.read.get() > 0;
        let mut near = NearestCopy::default();
        if self.scene.nodes.memory.is_some() {
            near.remembered = self.memory_read_share(flow, (held, running.node), set, access);
            if near.remembered >= 1.0 && only_reads {
                return near;
            }
        }
        let Some((row, _)) = home.cache.filter(|_| only_reads) else { return near };
        let key = CopyKey { held, row, place: self.place_on_tier(row, running.node) };
        if self.copies.open_for_flow(flow, key) {
            near.copy = Some(row);
        } else {
            self.copies.coming.entry(flow).or_default().push((row, set));
        }
        near
    }

    /// Which part of its reads the memory of the node answers; what it has not seen comes there.
    fn memory_read_share(
        &mut self,
        flow: u32,
        (held, node): (u32, u32),
        set: u32,
        access: &FileSetAccess,
    ) -> f64 {
        // Tasks that came since may have taken memory from copies.
        self.evict_to_fit((MEMORY, node), node, 0, true);
        if access.read.get() > 0
            && self.copies.open_for_flow(flow, CopyKey { held, row: MEMORY, place: node })
        {
            return 1.0;
        }
        let kept = self.keeps_written(set);
        if kept || access.read.get() > 0 {
            self.copies.coming.entry(flow).or_default().push((MEMORY, set));
        }
        let bytes = self.scene.workload.files[set as usize].bytes.get();
        // Of what is larger than memory, the beginning is gone when it is read again.
        let written = if kept { access.written.get() } else { 0 };
        let fits = bytes <= self.room.free_memory(node);
        if fits { cached_read_share(access.read.get(), written, bytes) } else { 0.0 }
    }

    /// Whether what is written where these files are stays in the memory of the node.
    fn keeps_written(&self, set: u32) -> bool {
        let home = self.homes.of_class[self.scene.workload.files[set as usize].class.index()];
        let row = if self.scene.made[set as usize] { home.row } else { self.homes.project };
        let profile = self.scene.storages[self.scene.tiers[row].storage].profile;
        profile.is_none_or(|profile| profile.keeps_written)
    }

    /// The step of a flow is done: what it read is there for those who come.
    pub(crate) fn commit_coming_copies(&mut self, flow: u32, node: u32) {
        self.copies.close_for_flow(flow);
        let Some(coming) = self.copies.coming.remove(&flow) else { return };
        let (pipeline, _) = self.pipeline_and_task(self.running[flow as usize].run);
        for (row, set) in coming {
            let bytes = self.scene.workload.files[set as usize].bytes.get();
            let key = CopyKey {
                held: self.shared_held_index(pipeline, set),
                row,
                place: self.place_on_tier(row, node),
            };
            self.create_copy(key, node, bytes);
        }
    }

    /// A flow ends before it is done, and leaves no copies.
    pub(crate) fn discard_coming_copies(&mut self, flow: u32) {
        self.copies.close_for_flow(flow);
        self.copies.coming.remove(&flow);
    }

    /// How much of what a task reads is on this node, in memory or in a cache of its own.
    pub(crate) fn bytes_near_node(&self, run: u32, node: u32) -> u64 {
        let (pipeline, task) = self.pipeline_and_task(run);
        let steps = &self.scene.workload.tasks[task as usize].steps;
        let reads = steps.iter().flat_map(|step| &step.accesses);
        let reads = reads.filter(|access| access.written.get() == 0 && access.read.get() > 0);
        let here = reads.filter(|access| {
            let set = access.files.index();
            let home = self.homes.of_class[self.scene.workload.files[set].class.index()];
            let cache = home.cache.map(|(row, _)| row);
            let own = cache.filter(|row| self.scene.tiers[*row].reach == Reach::Node);
            let held = self.shared_held_index(pipeline, set as u32);
            let mut rows = [Some(MEMORY), own].into_iter().flatten();
            rows.any(|row| self.copies.contains(&CopyKey { held, row, place: node }))
        });
        here.map(|access| access.read.get()).fold(0, u64::saturating_add)
    }

    /// Inputs are everybody's, what tasks make is their pipeline's.
    fn shared_held_index(&self, pipeline: u32, set: u32) -> u32 {
        self.held_index(if self.scene.made[set as usize] { pipeline } else { 0 }, set) as u32
    }
}
