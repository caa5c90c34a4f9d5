//! Copies that are made before the first task starts.

use super::eviction_order::CopyKey;
use crate::prepared_problem::LANES;
use crate::share::FlowEngine;
use crate::simulate::{Simulation, SimulationObserver};
use forebay_model::{PrefetchMode, Reach};

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    /// Makes the copies of inputs that should be there when the command starts.
    pub(crate) fn prefetch_inputs(&mut self) {
        let scene = self.scene;
        for (set, files) in scene.workload.files.iter().enumerate() {
            let home = self.homes.of_class[files.class.index()];
            let Some((row, PrefetchMode::AtStart)) = home.cache.filter(|_| !scene.made[set]) else {
                continue;
            };
            let storage = &scene.storages[scene.tiers[row].storage];
            // A copy on every node, or on every server of a shared tier.
            let shared = scene.tiers[row].reach != Reach::Node;
            let servers = storage.profile.map_or(1, |profile| profile.stripes.servers);
            let (places, each) =
                if shared { (1, u64::from(servers)) } else { (self.choice.nodes, 1) };
            let bytes = files.bytes.get();
            for place in 0..places {
                let key = CopyKey { held: set as u32, row, place };
                // In the order of their names, as long as they fit: none makes way for another.
                let copied = bytes.saturating_mul(each);
                if self.used[row].missing_bytes(place, copied) == 0 {
                    self.create_copy(key, place, copied);
                }
            }
            let from = scene.tiers[self.homes.project].storage;
            let all = bytes as f64 * f64::from(places);
            let total = scene.storages[from].lane_limits()[0].total;
            let alone =
                self.lanes.copy_seconds_per_byte(from * LANES, scene.tiers[row].storage * LANES);
            self.begin += (bytes as f64 * alone).max(all / total);
        }
    }
}
