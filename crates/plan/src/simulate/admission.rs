//! Whether there is room for what a task, or a whole pipeline, will write.

use super::{Sim, Watch};
use crate::share::Flows;
use forebay_model::ByteCount;

impl<F: Flows, W: Watch> Sim<'_, '_, F, W> {
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
        needs.iter().zip(&self.used).enumerate().all(|(row, (bytes, used))| {
            // Copies make way.
            let needs = bytes.saturating_sub(self.copies.idle((row, self.place(row, node))));
            *bytes == 0 || used.fits(node, needs, true)
        })
    }

    pub(super) fn promise(&mut self, run: u32) {
        let needs = self.needs_by_tier(run);
        for (used, bytes) in self.used.iter_mut().zip(needs) {
            used.promised += bytes;
        }
    }

    pub(super) fn has_room_for_pipeline(&self) -> bool {
        // What is on its way home is still there.
        let holds = |pipeline: &u32| {
            let at = *pipeline as usize;
            self.admitted[at] && (self.unfinished[at] > 0 || self.is_draining(*pipeline))
        };
        let pipelines = (0..self.choice.pipelines).filter(holds).count() as u64 + 1;
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
