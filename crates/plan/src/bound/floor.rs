//! The least time of one access, with nobody else there.

use forebay_model::workload::Access;
use forebay_model::{
    ByteCount, Cache, Home, OpGroup, Placement, Rate, Reach, Seconds, Site, Tier, TierId,
};

/// What an access takes at least.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Least {
    /// Time of the task.
    pub time: Seconds,
    /// Of what is shared: operations or bytes.
    pub uses: Vec<(Resource, f64)>,
}

/// What all tasks share of a storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The tier that is no pool.
    pub tier: TierId,
    /// Which of its limits.
    pub way: Way,
    /// So much of it in a second.
    pub rate: f64,
    /// Each node has one.
    pub everywhere: bool,
}

/// The limits of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Bytes out.
    Read,
    /// Bytes in.
    Write,
    /// Operations on names and attributes.
    Names,
}

/// Says what accesses take at least; whoever simulates must never take less.
pub trait Floor {
    /// This access of this task, with its files placed so.
    fn least(&self, task: usize, access: &Access, placement: &Placement) -> Least;
}

/// What the profiles of a site say.
#[derive(Clone, Debug)]
pub struct Profiles<'s> {
    site: &'s Site,
    project: &'s TierId,
    /// Reads may be answered from memory, and then take nothing.
    memory: bool,
}

impl<'s> Profiles<'s> {
    /// The project is on this tier; `memory`: there is a page cache.
    pub fn new(site: &'s Site, project: &'s TierId, memory: bool) -> Self {
        Self { site, project, memory }
    }

    fn on(&self, tier: &Tier, access: &Access, reads: bool) -> Least {
        let Some(profile) = &tier.profile else { return Least::default() };
        let reads = reads && !self.memory;
        let mut least = Least::default();
        let mut names = 0.0;
        for (key, count) in &access.ops {
            if key.op() == forebay_model::Op::Read && !reads {
                continue;
            }
            least.time += profile.price(*key) * *count;
            if key.op().group() == OpGroup::Metadata {
                names += count;
            }
        }
        let resource = |way, rate| Resource {
            tier: tier.whole().clone(),
            way,
            rate,
            everywhere: tier.reach == Reach::Node,
        };
        let lanes = [(access.read, profile.read, Way::Read, reads)].into_iter().chain([(
            access.written,
            profile.write,
            Way::Write,
            true,
        )]);
        for (bytes, lane, way, counts) in lanes.filter(|(bytes, ..)| *bytes > ByteCount::ZERO) {
            if !counts {
                continue;
            }
            let rates = [lane.stream, lane.node, lane.total].into_iter().flatten().map(Rate::get);
            let rate = rates.fold(f64::INFINITY, f64::min);
            if rate.is_finite() {
                least.time += Seconds(bytes.get() as f64 / rate);
            }
            if let Some(total) = lane.total {
                least.uses.push((resource(way, total.get()), bytes.get() as f64));
            }
        }
        if let Some(rate) = profile.names_per_second
            && names > 0.0
        {
            least.uses.push((resource(Way::Names, rate), names));
        }
        least
    }
}

impl Floor for Profiles<'_> {
    fn least(&self, _task: usize, access: &Access, placement: &Placement) -> Least {
        let home = match &placement.home {
            Home::Here => self.project,
            Home::Tier(tier) => tier,
        };
        let Some(home) = self.site.tier(home) else { return Least::default() };
        match &placement.cache {
            None => self.on(home, access, true),
            // Which reads a copy answers depends on when it was made: the faster one counts, and
            // neither storage is sure to be used.
            Some(Cache { tier, .. }) => {
                let copies = self.site.tier(tier).map(|tier| self.on(tier, access, true));
                let home = self.on(home, access, true);
                let copied = copies.map_or(home.time, |least| least.time);
                let time = if copied < home.time { copied } else { home.time };
                Least { time, uses: Vec::new() }
            }
        }
    }
}
