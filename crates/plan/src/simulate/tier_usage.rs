//! The room that files take on tiers, over time: taken when a step begins that writes them, given
//! back when the task is done that needs them last.

use crate::prepared_problem::{PreparedProblem, ResolvedChoice};
use forebay_model::Reach;

/// The room of one tier or pool.
#[derive(Clone, Debug)]
pub(super) struct TierUsage {
    pub(super) bytes: u64,
    pub(super) peak: u64,
    /// For a tier of one node's reach.
    nodes: Vec<u64>,
    peak_node: u64,
    capacity: u64,
    /// What running tasks still write here.
    pub(super) promised: u64,
}

impl TierUsage {
    pub(super) fn for_all_tiers(
        scene: &PreparedProblem<'_>,
        homes: &ResolvedChoice,
        nodes: u32,
    ) -> Vec<Self> {
        let used = |(row, capacity): (&crate::prepared_problem::TierRow, &Option<u64>)| Self {
            bytes: 0,
            peak: 0,
            nodes: vec![0; if row.reach == Reach::Node { nodes as usize } else { 0 }],
            peak_node: 0,
            capacity: capacity.unwrap_or(u64::MAX),
            promised: 0,
        };
        scene.tiers.iter().zip(&homes.capacity).map(used).collect()
    }

    /// Whether so many bytes more fit; with `kept`, beside what running tasks still write.
    pub(super) fn can_hold(&self, node: u32, bytes: u64, kept: bool) -> bool {
        let has = self.nodes.get(node as usize).copied().unwrap_or(self.bytes);
        let kept = if kept { self.promised } else { 0 };
        has.saturating_add(bytes).saturating_add(kept) <= self.capacity
    }

    /// How much room is missing for so many bytes more.
    pub(super) fn missing_bytes(&self, node: u32, bytes: u64) -> u64 {
        let has = self.nodes.get(node as usize).copied().unwrap_or(self.bytes);
        has.saturating_add(bytes).saturating_sub(self.capacity)
    }

    /// Half of it is taken.
    pub(super) fn is_half_full(&self, node: u32) -> bool {
        let has = self.nodes.get(node as usize).copied().unwrap_or(self.bytes);
        self.capacity != u64::MAX && has >= self.capacity / 2
    }

    pub(super) fn allocate_bytes(&mut self, node: u32, bytes: u64) {
        self.bytes += bytes;
        self.peak = self.peak.max(self.bytes);
        if let Some(has) = self.nodes.get_mut(node as usize) {
            *has += bytes;
            self.peak_node = self.peak_node.max(*has);
        }
    }

    pub(super) fn release_bytes(&mut self, node: u32, bytes: u64) {
        self.bytes -= bytes;
        if let Some(has) = self.nodes.get_mut(node as usize) {
            *has -= bytes;
        }
    }

    /// The peak by node: of the fullest, or of the average.
    pub(super) fn peak_per_node(&self, nodes: u32) -> f64 {
        if self.nodes.is_empty() {
            self.peak as f64 / f64::from(nodes)
        } else {
            self.peak_node as f64
        }
    }
}
