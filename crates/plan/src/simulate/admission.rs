//! Whether there is room for what a task, or a whole pipeline, will write.

use super::{Simulation, SimulationObserver};
use crate::share::FlowEngine;
use forebay_model::ByteCount;

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// What a task writes to each tier, access by access.
    fn space_needs(&self, run: u32) -> impl Iterator<Item = (usize, u64)> {
        let (_, task) = self.pipeline_and_task(run);
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
    fn space_needs_by_tier(&self, run: u32) -> Vec<u64> {
        let mut all = vec![0; self.used.len()];
        for (row, bytes) in self.space_needs(run) {
            all[row] += bytes;
        }
        all
    }

    pub(super) fn has_room_for_task(&self, run: u32, node: u32) -> bool {
        let needs = self.space_needs_by_tier(run);
        needs.iter().zip(&self.used).enumerate().all(|(row, (bytes, used))| {
            // Copies make way.
            let needs =
                bytes.saturating_sub(self.copies.idle_bytes((row, self.place_on_tier(row, node))));
            *bytes == 0 || used.can_hold(node, needs, true)
        })
    }

    pub(super) fn promise_space(&mut self, run: u32) {
        let needs = self.space_needs_by_tier(run);
        for (used, bytes) in self.used.iter_mut().zip(needs) {
            used.promised += bytes;
        }
    }

    pub(super) fn has_room_for_pipeline(&self) -> bool {
        // What is on its way home is still there.
        let holds = |pipeline: &u32| {
            let at = *pipeline as usize;
            self.admitted[at] && (self.unfinished[at] > 0 || self.is_writing_back(*pipeline))
        };
        let pipelines = (0..self.choice.pipelines).filter(holds).count() as u64 + 1;
        let mut rows = self.reserve.iter().zip(&self.homes.capacity);
        rows.all(|(needs, has)| has.is_none_or(|has| needs.saturating_mul(pipelines) <= has))
    }

    pub(super) fn describe_missing_space(&self, run: u32) -> String {
        let needs = self.space_needs_by_tier(run);
        let short =
            needs.iter().zip(&self.used).position(|(bytes, used)| !used.can_hold(0, *bytes, true));
        short.map_or("no node can take it".to_owned(), |row| {
            format!(
                "it writes {} to tier {:?}, and nothing there will be freed",
                ByteCount(needs[row]),
                self.scene.tiers[row].id.as_str()
            )
        })
    }
}
