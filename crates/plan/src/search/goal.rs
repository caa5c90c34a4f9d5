//! What is wanted most.

use super::visited_points::Score;
use crate::search_space::Configuration;
use forebay_model::Usd;

/// What a plan is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// All samples are done soonest.
    #[default]
    Fastest,
    /// A sample costs least.
    Cheapest,
    /// Most samples in an hour, with as many at a time as the frame says.
    Throughput,
}

impl Goal {
    /// All goals, by name.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("fastest", Self::Fastest),
        ("cheapest", Self::Cheapest),
        ("throughput", Self::Throughput),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, goal)| *goal == self).map_or("", |(name, _)| name)
    }

    /// What a score is worth; less is better. Seconds, dollars, seconds for a sample.
    pub fn value_of_score(self, frame: &Configuration, samples: u32, score: &Score) -> f64 {
        match self {
            Self::Fastest => score.makespan.get() * sequential_waves(frame, samples),
            Self::Cheapest => score.per_sample.map_or(f64::INFINITY, Usd::get),
            Self::Throughput => score.makespan.get() / f64::from(frame.pipelines),
        }
    }

    /// By how much a second more makes it worse.
    pub(super) fn price_of_time(
        self,
        frame: &Configuration,
        samples: u32,
        rent: Option<Usd>,
    ) -> f64 {
        match self {
            Self::Fastest => sequential_waves(frame, samples),
            Self::Cheapest => rent.map_or(0.0, Usd::get) / f64::from(frame.pipelines),
            Self::Throughput => 1.0 / f64::from(frame.pipelines),
        }
    }
}

/// How many times a frame is run, one after the other, to do all samples.
fn sequential_waves(frame: &Configuration, samples: u32) -> f64 {
    f64::from(samples.max(1).div_ceil(frame.pipelines.max(1)))
}
