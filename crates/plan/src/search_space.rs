//! What a search may choose from: for each class of files some placements, and for all together
//! some frames (nodes, pipelines, order, pools).
//!
//! What can't work is never in it: a home on one node's disk for files that another node reads, a
//! new home for files that are there before the run, two tiers with packed files. What it is not:
//! an opinion; the first placement of each class is "in place", and nothing says which is better.

mod configurations;
mod facts;
mod options;

pub use configurations::{Configuration, ConfigurationGrid};
pub use facts::{ClassFacts, class_facts};

use crate::Choice;
use forebay_model::{ByteCount, FileLocation, Placement, Site, TierId, Workload};

/// All that may be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSpace {
    /// Where the project is.
    pub project: TierId,
    /// For each class its placements; the first is in place.
    pub options: Vec<Vec<Placement>>,
    /// Everything else; the first is what there would be without a plan.
    pub frames: Vec<Configuration>,
    /// What is left out, and why: for people.
    pub left_out: Vec<String>,
}

/// One choice of a space: which frame, and for each class which placement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SearchPoint {
    /// A place in [`SearchSpace::frames`].
    pub frame: usize,
    /// Places in [`SearchSpace::options`].
    pub picks: Vec<u8>,
}

impl SearchSpace {
    /// All placements of all classes that may work on this site, with these frames.
    pub fn new(
        site: &Site,
        workload: &Workload,
        project: &TierId,
        frames: &ConfigurationGrid,
    ) -> Self {
        let mut left_out = Vec::new();
        let frames = frames.all_combinations(site);
        let nodes = frames.iter().map(|frame| frame.nodes).max().unwrap_or(1);
        let facts = class_facts(workload);
        let tiers = options::target_tiers(site, project, &mut left_out);
        let pipelines = frames.iter().map(|frame| frame.pipelines).max().unwrap_or(1);
        let made: ByteCount = facts.iter().filter(|class| class.made).map(|c| c.bytes).sum();
        let made = ByteCount(made.get().saturating_mul(u64::from(pipelines)));
        let options = facts
            .iter()
            .map(|class| options::placements_of_class(class, &tiers, nodes, made))
            .collect();
        Self { project: project.clone(), options, frames, left_out }
    }

    /// Leaves out placements with which tasks would wait longer than in place; `waiting` says how
    /// long they do for a class with each of its placements.
    pub fn drop_longer_waits(&mut self, waiting: impl Fn(usize, usize) -> f64) {
        /// Less is a matter of rounding.
        const SAME: f64 = 1e-9;
        for (class, options) in self.options.iter_mut().enumerate() {
            let most = waiting(class, 0) + SAME;
            let mut option = 0;
            options.retain(|_| {
                option += 1;
                waiting(class, option - 1) <= most
            });
        }
    }

    /// Everything in place, in the first frame.
    pub fn all_in_place(&self) -> SearchPoint {
        SearchPoint { frame: 0, picks: vec![0; self.options.len()] }
    }

    /// Classes with more than one placement.
    pub fn free_classes(&self) -> Vec<usize> {
        (0..self.options.len()).filter(|class| self.options[*class].len() > 1).collect()
    }

    /// The placement that a point has for a class.
    pub fn placement_at(&self, point: &SearchPoint, class: usize) -> &Placement {
        &self.options[class][usize::from(point.picks[class])]
    }

    /// The choice that a point means.
    pub fn choice_at(&self, point: &SearchPoint) -> Choice {
        let frame = &self.frames[point.frame];
        let classes = 0..self.options.len();
        Choice {
            placements: classes.map(|class| self.placement_at(point, class).clone()).collect(),
            project: self.project.clone(),
            pools: frame.pools.clone(),
            nodes: frame.nodes,
            slots: frame.slots,
            pipelines: frame.pipelines,
            stagger: frame.stagger,
            policy: frame.policy,
            low: frame.low.clone(),
            spot: frame.spot,
        }
    }

    /// Whether rules could say this: all packed files are on one tier.
    pub fn fits_together(&self, point: &SearchPoint) -> bool {
        let classes = 0..self.options.len();
        let mut packed =
            classes.map(|class| self.placement_at(point, class)).filter_map(packed_tier);
        let first = packed.next();
        packed.all(|tier| Some(tier) == first)
    }

    /// The frames that differ from this one in one thing, and the frame itself.
    pub fn frames_near(&self, frame: usize) -> Vec<usize> {
        let here = &self.frames[frame];
        let near = |other: &usize| self.frames[*other].distance(here) <= 1;
        (0..self.frames.len()).filter(near).collect()
    }

    /// How many classes are not in place.
    pub fn count_moved_classes(&self, point: &SearchPoint) -> usize {
        point.picks.iter().filter(|pick| **pick > 0).count()
    }
}

fn packed_tier(placement: &Placement) -> Option<&TierId> {
    match &placement.home {
        FileLocation::Tier(tier) if placement.layout.is_packed() => Some(tier),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
