//! The parts of a plan that is told.

use crate::Cost;
use forebay_model::{ByteCount, Seconds, Usd};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a choice leads to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanFigures {
    /// From the start of the pipelines that run at once until their results are home.
    pub makespan_s: Seconds,
    /// Of that, how long after the last task results come home.
    pub homecoming_s: Seconds,
    /// By which share the makespan may be wrong either way.
    #[serde(default)]
    pub error: f64,
    /// Samples in an hour, one wave after the other.
    pub samples_per_hour: f64,
    /// Dollars for one sample; `None`: nobody knows prices.
    pub per_sample_usd: Option<Usd>,
    /// Slots that had a task, 0 to 1.
    pub utilisation: f64,
    /// The most on each tier at one moment.
    pub peak_bytes: BTreeMap<String, ByteCount>,
    /// Line by line what it costs.
    pub cost: Option<Cost>,
}

/// All of a choice but placements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanSetting {
    /// Nodes.
    pub nodes: u32,
    /// Tasks of one node at a time.
    pub slots: u32,
    /// Pipelines at a time.
    pub pipelines: u32,
    /// Between their starts.
    pub stagger_s: Seconds,
    /// Who gets a free slot.
    pub policy: String,
    /// Kinds of tasks that come after all others.
    pub low: Vec<String>,
    /// Machines that may be taken away.
    #[serde(default)]
    pub spot: bool,
    /// Pools whose capacity is not the site's.
    pub pools: BTreeMap<String, ByteCount>,
}

/// A class of files, and where it lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlacedClass {
    /// Its pattern.
    pub pattern: String,
    /// Where, in words.
    pub to: String,
    /// Files of one pipeline.
    pub files: u64,
    /// Their bytes.
    pub bytes: ByteCount,
    /// How long tasks of one pipeline wait for them in place, at least, summed.
    pub waits_in_place_s: Seconds,
    /// And with this placement.
    pub waits_s: Seconds,
}

/// Another choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RejectedChoice {
    /// How it differs from the proposal.
    pub what: String,
    /// Why it lost.
    pub why: String,
    /// What it leads to; `None`: it can't be.
    pub makespan_s: Option<Seconds>,
    /// Dollars for one sample.
    pub per_sample_usd: Option<Usd>,
}
