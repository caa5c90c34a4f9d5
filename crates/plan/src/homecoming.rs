//! What tasks left on other tiers becomes plain files in place when a run ends: that takes time,
//! machines are paid meanwhile, and the storage in place takes the bytes.
//!
//! The simulator ends with the last task; this is what comes after. What it is not: simulated. Each
//! node copies one file after the other, with nobody else there.

use crate::Choice;
use forebay_model::profile::Lane;
use forebay_model::workload::Until;
use forebay_model::{
    After, ByteCount, Home, Op, OpKey, Placement, Rate, Reach, Seconds, Site, TierId, Workload,
};

/// What is there in the end of what tasks make, in one pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Results {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: ByteCount,
}

/// Results of a workload on a site.
#[derive(Clone, Debug)]
pub struct Homecoming<'s> {
    site: &'s Site,
    results: Vec<Results>,
}

impl<'s> Homecoming<'s> {
    /// Looks for files that tasks write and nobody deletes.
    pub fn new(site: &'s Site, workload: &Workload) -> Self {
        let mut made = vec![false; workload.files.len()];
        let steps = workload.tasks.iter().flat_map(|task| &task.steps);
        for access in steps.flat_map(|step| &step.accesses) {
            made[access.files.index()] |= access.written > ByteCount::ZERO;
        }
        let mut results = vec![Results::default(); workload.classes.len()];
        let sets = workload.files.iter().zip(made);
        for (set, _) in sets.filter(|(set, made)| *made && set.until == Until::End) {
            let class = &mut results[set.class.index()];
            class.files += set.count;
            class.bytes += set.bytes;
        }
        Self { site, results }
    }

    /// What a class leaves, wherever it is.
    pub fn results(&self, class: usize) -> Results {
        self.results[class]
    }

    /// What of a class has to come home from this placement.
    pub fn comes(&self, class: usize, placement: &Placement, project: &TierId) -> Results {
        match &placement.home {
            Home::Tier(tier) if placement.after == After::Restore && tier != project => {
                self.results[class]
            }
            _ => Results::default(),
        }
    }

    /// How long that takes for this class of all pipelines.
    pub fn time_of(
        &self,
        class: usize,
        placement: &Placement,
        project: &TierId,
        (nodes, pipelines): (u32, u32),
    ) -> Seconds {
        let comes = self.comes(class, placement, project);
        let Home::Tier(from) = &placement.home else { return Seconds::ZERO };
        if comes.files == 0 {
            return Seconds::ZERO;
        }
        let ends = self.site.tier(from).zip(self.site.tier(project));
        let Some((from, to)) = ends else { return Seconds::ZERO };
        let Some((read, write)) = from.profile.as_ref().zip(to.profile.as_ref()) else {
            return Seconds::ZERO;
        };
        let nodes = f64::from(nodes);
        let out = each(read.read, from.reach).min(each(write.write, to.reach)) * nodes;
        let all = shared(read.read, from.reach).min(shared(write.write, to.reach));
        let rate = out.min(all);
        let bytes = comes.bytes.get() as f64;
        let moving = if rate.is_finite() { bytes / rate } else { 0.0 };
        let naming = write.price(OpKey::plain(Op::Create)) * (comes.files as f64 / nodes);
        (Seconds(moving) + naming) * f64::from(pipelines)
    }

    /// How long that takes for all classes.
    pub fn time(&self, choice: &Choice) -> Seconds {
        let many = (choice.nodes, choice.pipelines);
        let classes = choice.placements.iter().enumerate();
        classes.map(|(class, to)| self.time_of(class, to, &choice.project, many)).sum()
    }

    /// What comes home of all classes and pipelines.
    pub fn all(&self, choice: &Choice) -> Results {
        let mut all = Results::default();
        for (class, placement) in choice.placements.iter().enumerate() {
            let comes = self.comes(class, placement, &choice.project);
            all.files += comes.files * u64::from(choice.pipelines);
            all.bytes += ByteCount(comes.bytes.get() * u64::from(choice.pipelines));
        }
        all
    }
}

/// What one node gets, with one stream.
fn each(lane: Lane, reach: Reach) -> f64 {
    let own = if reach == Reach::Node { limit(lane.total) } else { f64::INFINITY };
    limit(lane.node).min(limit(lane.stream)).min(own)
}

/// What all nodes get together.
fn shared(lane: Lane, reach: Reach) -> f64 {
    if reach == Reach::Node { f64::INFINITY } else { limit(lane.total) }
}

fn limit(rate: Option<Rate>) -> f64 {
    rate.map_or(f64::INFINITY, Rate::get)
}
