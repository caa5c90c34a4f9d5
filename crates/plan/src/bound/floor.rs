//! The least time of one access in the simulator: with nobody else there.

use crate::prepared_problem::{
    ClassLocation, LANES, PreparedProblem, ResourceRates, StepCost, cached_read_share,
};
use forebay_model::workload::FileSetAccess;
use forebay_model::{
    FileLayout, FileLocation, FsyncMode, Placement, Reach, TierId, WriteBackTrigger,
};

/// What an access takes at least.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MinimumCost {
    /// Seconds of the task.
    pub(super) seconds: f64,
    /// Of what is shared: operations or bytes.
    pub(super) uses: Vec<(SharedLimit, f64)>,
}

/// A limit that all tasks share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SharedLimit {
    /// The storage's number and that of its lane.
    lane: usize,
    /// So much of it in a second.
    pub(super) rate: f64,
    /// Each node has one.
    pub(super) everywhere: bool,
}

/// Prices accesses as the simulator does.
pub(super) struct MinimumCostModel<'s> {
    scene: &'s PreparedProblem<'s>,
    lanes: ResourceRates,
    project: Option<usize>,
    /// How many accesses there are to each set.
    accesses: Vec<u32>,
    /// There is never more than one pipeline.
    alone: bool,
}

impl<'s> MinimumCostModel<'s> {
    pub(super) fn new(scene: &'s PreparedProblem<'s>, project: &TierId, alone: bool) -> Self {
        let mut accesses = vec![0; scene.workload.files.len()];
        for access in &scene.accesses {
            accesses[access.set as usize] += 1;
        }
        Self {
            scene,
            lanes: ResourceRates::for_scene(scene),
            project: scene.find_tier_row(project),
            accesses,
            alone,
        }
    }

    /// Which part of its reads memory may answer: all if somebody may have read or written it there
    /// before.
    fn memory_read_share(&self, access: &FileSetAccess) -> f64 {
        let set = access.files.index();
        if self.scene.nodes.memory.is_none() || access.read.get() == 0 {
            return 0.0;
        }
        let first = self.alone && !self.scene.made[set] && self.accesses[set] == 1;
        let bytes = self.scene.workload.files[set].bytes.get();
        let (read, written) = (access.read.get(), access.written.get());
        if first { cached_read_share(read, written, bytes) } else { 1.0 }
    }

    /// This access, with its files placed so.
    pub(super) fn least_cost(&self, access: &FileSetAccess, placement: &Placement) -> MinimumCost {
        let made = self.scene.made[access.files.index()];
        let row = match &placement.home {
            FileLocation::Tier(tier) if made => self.scene.find_tier_row(tier),
            _ => self.project,
        };
        let Some(home) = row.map(|row| self.cost_on_tier(row, access, placement)) else {
            return MinimumCost::default();
        };
        // Which reads a copy answers depends on when it was made: the faster one counts, and
        // neither storage is sure to be used.
        let copies =
            placement.cache.as_ref().and_then(|cache| self.scene.find_tier_row(&cache.tier));
        // The same of files that come home while the run goes on: who comes late finds them there.
        let early = made && placement.drain == WriteBackTrigger::Closed;
        match copies
            .or(self.project.filter(|_| early))
            .map(|row| self.cost_on_tier(row, access, placement))
        {
            None => home,
            Some(copied) => {
                MinimumCost { seconds: home.seconds.min(copied.seconds), uses: Vec::new() }
            }
        }
    }

    fn cost_on_tier(
        &self,
        row: usize,
        access: &FileSetAccess,
        placement: &Placement,
    ) -> MinimumCost {
        let storage = self.scene.tiers[row].storage;
        let whole = placement.layout == FileLayout::Whole;
        let home = ClassLocation {
            row,
            spill: None,
            layout: placement.layout,
            names: self.project.filter(|_| !whole).map(|row| self.scene.tiers[row].storage),
            durable: placement.fsync == FsyncMode::Durable,
            cache: None,
            comes: None,
        };
        let mut cost = StepCost::new(self.scene);
        cost.reset_to_compute(0.0);
        // Whatever else a choice packs.
        cost.asks_once = self.scene.own.is_some();
        let remembered = self.memory_read_share(access);
        cost.add_access((self.scene, &self.lanes), &home, storage, access, 1.0, remembered);
        let mut uses = Vec::new();
        let behind = &self.scene.storages[storage];
        for (lane, limit) in behind.lane_limits().into_iter().enumerate() {
            let lane = storage * LANES + lane;
            let amount = cost.asks[lane];
            if amount <= 0.0 {
                continue;
            }
            if behind.reach != Reach::Node && limit.total.is_finite() {
                let rate = limit.total;
                uses.push((SharedLimit { lane, rate, everywhere: false }, amount));
            }
            if limit.node.is_finite() {
                uses.push((SharedLimit { lane, rate: limit.node, everywhere: true }, amount));
            }
        }
        MinimumCost { seconds: cost.alone, uses }
    }
}
