//! A plan as it is told: what is proposed, what it saves, how sure that is, and why others lost.
//!
//! One set of plain data, for `--json`, for the file beside the rules that `forebay explain` reads,
//! and for the words. What it is not: obeyed; rules are.

mod certainty;
mod class_placements;
mod dollars;
mod learnt_from;
mod plan_builder;
mod plan_figures;
mod plan_sentences;
mod rejected_choices;
mod search_story;

pub use class_placements::{FileRow, file_rows};
pub use learnt_from::LearntFrom;
pub use plan_builder::build_plan;
pub use plan_figures::{PlacedClass, PlanFigures, PlanSetting, RejectedChoice};
pub use plan_sentences::{
    closing_sentences, explain_plan, gains_nothing, no_gain_sentences, opening_sentences,
    pareto_rows,
};
pub use search_story::ReportContext;

use crate::advise::Advice;
use serde::{Deserialize, Serialize};

/// The version of the file.
pub const SCHEMA: u32 = 1;

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this shape: [`SCHEMA`].
    pub schema: u32,
    /// The runs that the workload was learnt from.
    pub runs: Vec<String>,
    /// How the run went that it was learnt from; `None`: by a Forebay that did not say.
    #[serde(default)]
    pub learnt_from: Option<LearntFrom>,
    /// The site file.
    pub site: String,
    /// What was wanted: `fastest`, `cheapest` or `throughput`.
    pub goal: String,
    /// How many times the workload is to be done.
    pub samples: u32,
    /// For all that was random.
    pub seed: u64,
    /// By which share predictions may be wrong.
    pub error: f64,
    /// Why: what a prediction rests on and nobody measured.
    pub doubts: Vec<String>,
    /// Everything as it is; `None`: it can't be.
    pub as_it_is: Option<PlanFigures>,
    /// Why everything as it is can't be.
    pub as_it_is_why: Option<String>,
    /// What is proposed.
    pub chosen: PlanFigures,
    /// All but placements.
    pub setting: PlanSetting,
    /// The classes that are not simply in place.
    pub moved: Vec<PlacedClass>,
    /// Those that are, if they have files; the ones that tasks wait for longest first.
    #[serde(default)]
    pub stay: Vec<PlacedClass>,
    /// The proposal's worth to the goal, in `unit`; less is better.
    pub value: f64,
    /// Nothing is worth less, in the model.
    pub bound: f64,
    /// How much better something unknown may be at most: 0.1 is 10 %.
    pub gap: f64,
    /// `seconds`, `dollars for a sample` or `seconds for a sample`.
    pub unit: String,
    /// How far the search came: `exhausted`, `stopped` or `annealed`.
    pub search: String,
    /// For how many classes it chose.
    pub classes: usize,
    /// How many choices were simulated.
    pub simulated: usize,
    /// The best for the goal, where the model can't tell it from the proposal, which costs or moves less.
    pub alike: Option<RejectedChoice>,
    /// What lost, with figures and reasons; the nearest first.
    pub lost: Vec<RejectedChoice>,
    /// Nothing is both faster and cheaper than any of these.
    pub front: Vec<RejectedChoice>,
    /// The price sheet with its day; `None`: the site names no prices.
    pub prices: Option<String>,
    /// Prices that were used and that nobody could verify.
    pub unverified: Vec<String>,
    /// What was not considered, and why.
    pub left_out: Vec<String>,
    /// What else would help.
    pub advice: Vec<Advice>,
    /// Folders that are on a tier as a whole, with the tier's name; what that saves is in no figure.
    #[serde(default)]
    pub whole_folders: Vec<(String, String)>,
}

#[cfg(test)]
mod tests;
