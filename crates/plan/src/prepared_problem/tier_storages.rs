//! Tiers and pools as rows, and the storages behind them: pools of one tier share its limits.

use forebay_model::profile::{BandwidthLimits, BurstCredits};
use forebay_model::{Reach, Site, StorageProfile, TierId};

/// A tier or a pool.
#[derive(Clone, Debug)]
pub(crate) struct TierRow {
    pub(crate) id: TierId,
    pub(crate) reach: Reach,
    /// Bytes: of one node for a tier of one node's reach, of all for the others.
    pub(crate) capacity: Option<u64>,
    /// What is behind it.
    pub(crate) storage: usize,
}

/// What is behind a tier and its pools.
#[derive(Clone, Debug)]
pub(crate) struct TierStorage<'s> {
    pub(crate) reach: Reach,
    pub(crate) profile: Option<&'s StorageProfile>,
    /// Its capacity with that of its pools.
    pub(crate) capacity: Option<u64>,
}

/// A limit that streams share: reads, writes, operations on names, operations on bytes, and the
/// seconds of those who work on operations.
pub(crate) const LANES: usize = 5;
pub(crate) const READ: usize = 0;
pub(crate) const WRITE: usize = 1;
pub(crate) const NAMES: usize = 2;
pub(crate) const DATA: usize = 3;
pub(crate) const WORK: usize = 4;

/// Credits of a lane: while there are some, its limit is what it says; then it is a part of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ResourceCredits {
    /// The part of the limit at which they come, and which is left without them: 0 to 1.
    pub(crate) share: f64,
    /// What a full account pays for above that, in bytes or operations.
    pub(crate) full: f64,
    /// Each node has an account of its own.
    pub(crate) of_node: bool,
}

/// How much of one lane there is, in bytes or operations a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ResourceLimit {
    /// For all together.
    pub(crate) total: f64,
    /// For those of one node.
    pub(crate) node: f64,
    /// Over how many disks or servers the total is spread, and over how many of them one file.
    pub(crate) servers: u32,
    pub(crate) spread: u32,
    pub(crate) credits: Option<ResourceCredits>,
}

impl ResourceLimit {
    /// The same with what credits pay for above it.
    fn with_burst_credits(self, burst: Option<BurstCredits>) -> ResourceLimit {
        let Some(burst) = burst else { return self };
        let of_node = self.total == f64::INFINITY;
        let base = if of_node { self.node } else { self.total };
        let credits =
            Some(ResourceCredits { share: base / burst.per_second, full: burst.credits, of_node });
        match of_node {
            true => ResourceLimit { node: burst.per_second, credits, ..self },
            false => ResourceLimit { total: burst.per_second, credits, ..self },
        }
    }
}

impl TierStorage<'_> {
    /// The limits of its lanes; without a profile there are none.
    pub(crate) fn lane_limits(&self) -> [ResourceLimit; LANES] {
        let (total, node) = (f64::INFINITY, f64::INFINITY);
        let none = ResourceLimit { total, node, servers: 1, spread: 1, credits: None };
        let Some(profile) = self.profile else { return [none; LANES] };
        let open = |rate: Option<f64>| rate.unwrap_or(f64::INFINITY);
        let lane = |lane: BandwidthLimits| {
            let limit = ResourceLimit {
                total: open(lane.total.map(|rate| rate.get())),
                node: open(lane.node.map(|rate| rate.get())),
                servers: profile.stripes.servers,
                spread: profile.stripes.count,
                credits: None,
            };
            limit.with_burst_credits(lane.burst)
        };
        let count = |rate| ResourceLimit { total: open(rate), ..none };
        let limits = [
            lane(profile.read),
            lane(profile.write),
            count(profile.names_per_second),
            count(profile.data_per_second).with_burst_credits(profile.data_burst),
            count(profile.at_once.map(f64::from)),
        ];
        // Each node has a storage of its own: what is "all together" there is the node.
        let own = |limit: ResourceLimit| {
            let credits = limit.credits.map(|credits| ResourceCredits { of_node: true, ..credits });
            ResourceLimit { node: limit.node.min(limit.total), credits, ..none }
        };
        if self.reach == Reach::Node { limits.map(own) } else { limits }
    }
}

pub(super) fn rows_and_storages(site: &Site) -> (Vec<TierRow>, Vec<TierStorage<'_>>) {
    let (mut rows, mut storages, mut names) = (Vec::new(), Vec::new(), Vec::<&TierId>::new());
    for tier in site.tiers() {
        let storage =
            names.iter().position(|name| *name == tier.whole_tier()).unwrap_or_else(|| {
                names.push(tier.whole_tier());
                storages.push(TierStorage {
                    reach: tier.reach,
                    profile: tier.profile.as_ref(),
                    capacity: tier.capacity.map(|_| 0),
                });
                storages.len() - 1
            });
        let whole: &mut TierStorage<'_> = &mut storages[storage];
        let capacity = tier.capacity.map(|bytes| bytes.get());
        whole.capacity = whole.capacity.zip(capacity).map(|(sum, part)| sum.saturating_add(part));
        rows.push(TierRow { id: tier.id.clone(), reach: tier.reach, capacity, storage });
    }
    (rows, storages)
}
