//! Copies of files nearer to those who read them: on cache tiers as the choice says, and in the
//! memory of a node, where what was read or written stays for as long as there is room.
//!
//! Who makes room is what a run does, which knows no future: on a tier the copy that was opened
//! longest ago of those that nobody has open; in memory what was used once, before what was used
//! again, as kernels do. So data that are read once displace what others come back for.

mod eviction_order;
mod nearest_copies;
mod prefetch;

use super::{Simulation, SimulationObserver};
use crate::share::FlowEngine;
use crate::simulate::SimulationEvent;
pub(super) use eviction_order::CachedCopies;
use eviction_order::{CopyKey, MEMORY};
use forebay_model::workload::FileSetId;
use forebay_model::{ByteCount, Reach, Seconds};
pub(super) use nearest_copies::NearestCopy;

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// Copies on a shared tier are everybody's.
    pub(super) fn place_on_tier(&self, row: usize, node: u32) -> u32 {
        if row == MEMORY || self.scene.tiers[row].reach == Reach::Node { node } else { 0 }
    }

    /// Makes a copy if there is room for it, or can be made.
    fn create_copy(&mut self, key: CopyKey, node: u32, bytes: u64) {
        let CopyKey { held, row, place } = key;
        if self.copies.contains(&key) || bytes == 0 {
            return;
        }
        // What comes to memory for the first time does not displace what was used again.
        let again = row != MEMORY || self.copies.record_visit(key);
        if !self.evict_to_fit((row, place), node, bytes, again) {
            return;
        }
        self.copies.add(key, bytes);
        if row == MEMORY {
            return;
        }
        self.used[row].allocate_bytes(node, bytes);
        self.update_contention(self.scene.tiers[row].storage);
        let files = FileSetId(held % self.scene.workload.files.len() as u32);
        let tier = &self.scene.tiers[row].id;
        let seen = SimulationEvent::Cached { files, tier, node, bytes: ByteCount(bytes) };
        self.watch.on_event(Seconds(self.now), &seen);
    }

    /// Makes room for so many bytes, at the cost of copies.
    pub(super) fn evict_to_fit(
        &mut self,
        at: (usize, u32),
        node: u32,
        bytes: u64,
        again: bool,
    ) -> bool {
        let missing = self.missing_bytes(at.0, node, bytes);
        // What would not do is not begun; but what goes through memory pushes out what it meets.
        if missing > self.copies.idle_bytes(at) && at.0 != MEMORY {
            return false;
        }
        while self.missing_bytes(at.0, node, bytes) > 0 {
            let Some(key) = self.copies.eviction_candidate(at, again) else { return false };
            self.drop_copy(key);
        }
        true
    }

    fn missing_bytes(&self, row: usize, node: u32, bytes: u64) -> u64 {
        if row != MEMORY {
            return self.used[row].missing_bytes(node, bytes);
        }
        self.copies
            .bytes_at((MEMORY, node))
            .saturating_add(bytes)
            .saturating_sub(self.room.free_memory(node))
    }

    fn drop_copy(&mut self, key: CopyKey) {
        let Some(bytes) = self.copies.remove(&key) else { return };
        let CopyKey { held, row, place } = key;
        if row == MEMORY {
            return;
        }
        self.used[row].release_bytes(place, bytes);
        self.update_contention(self.scene.tiers[row].storage);
        let files = FileSetId(held % self.scene.workload.files.len() as u32);
        let tier = &self.scene.tiers[row].id;
        self.watch.on_event(
            Seconds(self.now),
            &SimulationEvent::Evicted { files, tier, bytes: ByteCount(bytes) },
        );
    }

    /// A node is gone, and the copies that it had to itself with it.
    pub(super) fn drop_copies_of_node(&mut self, node: u32) {
        let own = |row: &usize| self.scene.tiers[*row].reach == Reach::Node;
        let rows: Vec<usize> = (0..self.scene.tiers.len()).filter(own).chain([MEMORY]).collect();
        for row in rows {
            while let Some(key) = self.copies.any_copy_at((row, node)) {
                self.drop_copy(key);
            }
        }
        self.copies.forget_visits(node);
    }

    /// Files are gone, and their copies with them.
    pub(super) fn drop_copies(&mut self, held: u32) {
        while let Some(key) = self.copies.any_copy_of(held) {
            self.drop_copy(key);
        }
    }
}
