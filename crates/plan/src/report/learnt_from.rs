//! How the run went that a plan was learnt from: what every view of that run says, and nothing that is
//! reckoned anew.

use crate::LearntRun;
use forebay_model::summary::{StorageVerdict, TimeSplit};
use serde::{Deserialize, Serialize};

/// A run, as `forebay summary` tells of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearntFrom {
    /// Its file: of several runs, the middle one.
    pub run: String,
    /// The tasks' time, and what it was spent on.
    pub time: TimeSplit,
    /// Of that time, the share that they waited for storage, 0 to 1; `None` if not known.
    pub waited_share: Option<f64>,
    /// Whether storage held it up; `None` without a task.
    pub verdict: Option<StorageVerdict>,
}

impl LearntFrom {
    /// Of a run that was learnt from.
    pub fn from_learnt(learnt: &LearntRun) -> Self {
        let measured = &learnt.measured;
        Self {
            run: learnt.run.clone(),
            time: measured.time,
            waited_share: measured.time.storage_share(),
            verdict: measured.verdict.clone(),
        }
    }

    /// For people.
    pub(super) fn sentence(&self) -> Option<String> {
        let verdict = self.verdict.as_ref()?;
        let clean = |c: char| if c.is_control() { '?' } else { c };
        let said = format!("Learnt from {}. {}", self.run, verdict.sentence);
        Some(said.chars().map(clean).collect())
    }
}
