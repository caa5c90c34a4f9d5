//! Where steps find their files, and what they leave for those who come.

use super::kept::{Key, MEMORY};
use crate::share::Flows;
use crate::simulate::{Running, Sim, Watch};
use forebay_model::Reach;
use forebay_model::workload::Access;

/// Where an access finds its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Near {
    Home,
    /// A copy on this tier.
    Copy(usize),
    /// The memory of the node.
    Memory,
}

impl<F: Flows, W: Watch> Sim<'_, '_, F, W> {
    /// Where a step finds these files; what is read from home may leave a copy.
    pub(crate) fn near(&mut self, flow: u32, running: Running, set: u32, access: &Access) -> Near {
        let (pipeline, _) = self.of(running.run);
        let held = self.held_of(pipeline, set);
        let home = self.homes.of_class[self.scene.workload.files[set as usize].class.index()];
        let only_reads = access.written.get() == 0 && access.read.get() > 0;
        if self.scene.nodes.memory.is_some() {
            // Tasks that came since may have taken memory from copies.
            self.make_way((MEMORY, running.node), running.node, 0, true);
            let key = Key { held, row: MEMORY, place: running.node };
            if only_reads && self.copies.open(flow, key) {
                return Near::Memory;
            }
            self.copies.coming.entry(flow).or_default().push((MEMORY, set));
        }
        let Some((row, _)) = home.cache.filter(|_| only_reads) else { return Near::Home };
        let key = Key { held, row, place: self.place(row, running.node) };
        if self.copies.open(flow, key) {
            return Near::Copy(row);
        }
        self.copies.coming.entry(flow).or_default().push((row, set));
        Near::Home
    }

    /// The step of a flow is done: what it read is there for those who come.
    pub(crate) fn copies_made(&mut self, flow: u32, node: u32) {
        self.copies.close(flow);
        let Some(coming) = self.copies.coming.remove(&flow) else { return };
        let (pipeline, _) = self.of(self.running[flow as usize].run);
        for (row, set) in coming {
            let bytes = self.scene.workload.files[set as usize].bytes.get();
            let key = Key { held: self.held_of(pipeline, set), row, place: self.place(row, node) };
            self.copy(key, node, bytes);
        }
    }

    /// A flow ends before it is done, and leaves no copies.
    pub(crate) fn forget_coming(&mut self, flow: u32) {
        self.copies.close(flow);
        self.copies.coming.remove(&flow);
    }

    /// How much of what a task reads is on this node, in memory or in a cache of its own.
    pub(crate) fn has_near(&self, run: u32, node: u32) -> u64 {
        let (pipeline, task) = self.of(run);
        let steps = &self.scene.workload.tasks[task as usize].steps;
        let reads = steps.iter().flat_map(|step| &step.accesses);
        let reads = reads.filter(|access| access.written.get() == 0 && access.read.get() > 0);
        let here = reads.filter(|access| {
            let set = access.files.index();
            let home = self.homes.of_class[self.scene.workload.files[set].class.index()];
            let cache = home.cache.map(|(row, _)| row);
            let own = cache.filter(|row| self.scene.tiers[*row].reach == Reach::Node);
            let held = self.held_of(pipeline, set as u32);
            let mut rows = [Some(MEMORY), own].into_iter().flatten();
            rows.any(|row| self.copies.has(&Key { held, row, place: node }))
        });
        here.map(|access| access.read.get()).fold(0, u64::saturating_add)
    }

    /// Inputs are everybody's, what tasks make is their pipeline's.
    fn held_of(&self, pipeline: u32, set: u32) -> u32 {
        self.held(if self.scene.made[set as usize] { pipeline } else { 0 }, set) as u32
    }
}
