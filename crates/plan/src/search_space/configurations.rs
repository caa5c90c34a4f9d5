//! What is chosen for all files and tasks together.

use super::options::is_for_copies;
use crate::{PolicyId, SpotMachines};
use forebay_model::workload::TaskKindId;
use forebay_model::{ByteCount, Seconds, Site, TierId};
use std::collections::BTreeMap;

/// One way to set everything but placements.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Capacities of pools, where they differ from the site's.
    pub pools: BTreeMap<TierId, ByteCount>,
    /// Nodes that are used.
    pub nodes: u32,
    /// Tasks of one node at a time.
    pub slots: u32,
    /// Pipelines at a time.
    pub pipelines: u32,
    /// Between their starts.
    pub stagger: Seconds,
    /// Who gets a free slot.
    pub policy: PolicyId,
    /// Kinds of low priority.
    pub low: Vec<TaskKindId>,
    /// Machines that may be taken away, and how often they are; `None`: others.
    pub spot: Option<SpotMachines>,
}

impl Configuration {
    /// In how many things they differ. For one pipeline stagger and policy are no things.
    pub(super) fn distance(&self, other: &Self) -> usize {
        let one = self.pipelines == 1 || other.pipelines == 1;
        let differs = [
            self.pools != other.pools,
            self.nodes != other.nodes,
            self.slots != other.slots,
            self.pipelines != other.pipelines,
            self.spot != other.spot,
            !one && self.stagger != other.stagger,
            !one && (self.policy, &self.low) != (other.policy, &other.low),
        ];
        differs.into_iter().filter(|differs| *differs).count()
    }
}

/// What is tried of each; all combinations are.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigurationGrid {
    /// Numbers of nodes.
    pub nodes: Vec<u32>,
    /// Tasks of one node at a time.
    pub slots: Vec<u32>,
    /// Numbers of pipelines.
    pub pipelines: Vec<u32>,
    /// Times between their starts; for one pipeline it does not matter.
    pub staggers: Vec<Seconds>,
    /// Policies, each with its kinds of low priority.
    pub policies: Vec<(PolicyId, Vec<TaskKindId>)>,
    /// Machines that stay (`None`), and such as may be taken away.
    pub spots: Vec<Option<SpotMachines>>,
    /// Whether pools may be split in another way.
    pub split_pools: bool,
}

/// Parts of a tier that its pool for copies is tried with.
const SHARES: [f64; 3] = [0.25, 0.5, 0.75];

impl ConfigurationGrid {
    /// Every combination that means something, the plain ones first.
    pub(super) fn all_combinations(&self, site: &Site) -> Vec<Configuration> {
        let mut frames = Vec::new();
        for pools in self.pool_splits(site) {
            for &pipelines in &self.pipelines {
                // One pipeline has nobody to wait for, and nobody to be less urgent than.
                let one = pipelines == 1;
                let staggers = if one { &[Seconds::ZERO][..] } else { &self.staggers[..] };
                let policies = &self.policies[..if one { 1 } else { self.policies.len() }];
                for (&stagger, (policy, low)) in
                    staggers.iter().flat_map(|stagger| policies.iter().map(move |p| (stagger, p)))
                {
                    for (nodes, slots, spot) in self.machine_options() {
                        let (pools, low) = (pools.clone(), low.clone());
                        let policy = *policy;
                        let frame = Configuration {
                            pools,
                            nodes,
                            slots,
                            pipelines,
                            stagger,
                            policy,
                            low,
                            spot,
                        };
                        frames.push(frame);
                    }
                }
            }
        }
        frames
    }

    fn machine_options(&self) -> impl Iterator<Item = (u32, u32, Option<SpotMachines>)> {
        let with_slots = |nodes| self.slots.iter().map(move |slots| (nodes, *slots));
        let sizes = self.nodes.iter().flat_map(move |nodes| with_slots(*nodes));
        sizes.flat_map(|(nodes, slots)| self.spots.iter().map(move |spot| (nodes, slots, *spot)))
    }

    /// As the site has them, then with the pool for copies as a quarter, half, three quarters.
    fn pool_splits(&self, site: &Site) -> Vec<BTreeMap<TierId, ByteCount>> {
        let mut splits = vec![BTreeMap::new()];
        if !self.split_pools {
            return splits;
        }
        for copies in site.tiers().filter(|tier| is_for_copies(&tier.id)) {
            let parts = || site.tiers().filter(|part| part.whole_tier() == copies.whole_tier());
            let homes = parts().filter(|part| part.pool_of.is_some() && part.id != copies.id);
            let Some(home) = homes.max_by_key(|part| part.capacity) else { continue };
            let room: u64 = [home, copies].iter().filter_map(|t| t.capacity).map(|c| c.get()).sum();
            for share in SHARES {
                let copied = ByteCount((room as f64 * share) as u64);
                let kept = ByteCount(room) - copied;
                let split = [(copies.id.clone(), copied), (home.id.clone(), kept)];
                splits.push(BTreeMap::from(split));
            }
        }
        splits
    }
}
