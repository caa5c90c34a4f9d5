//! Advice beyond placement: what the programs themselves could do otherwise, with what it would save
//! at most in the model.
//!
//! Each kind of advice is one entry of `ADVICE`. What it is not: part of the plan: nothing is
//! counted as saved because somebody might follow it.

mod failed_lookups;
mod fsyncs;
mod serial;

use crate::{Choice, Outcome};
use forebay_model::event::Op;
use forebay_model::{FileLocation, Seconds, Site, Workload};
use serde::{Deserialize, Serialize};

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Its kind.
    pub kind: String,
    /// In a sentence.
    pub sentence: String,
    /// How much sooner all would be done, at most.
    #[serde(rename = "saves_s")]
    pub saves: Seconds,
}

/// What advice is made from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The storages.
    pub site: &'a Site,
    /// The tasks.
    pub workload: &'a Workload,
    /// What is proposed.
    pub choice: &'a Choice,
    /// What comes of it.
    pub outcome: &'a Outcome,
}

struct AdviceRule {
    name: &'static str,
    judge: fn(&Evidence<'_>) -> Option<(Seconds, String)>,
}

const ADVICE: &[AdviceRule] = &[
    AdviceRule { name: "failed_lookups", judge: failed_lookups::assess_saving },
    AdviceRule { name: "fsyncs", judge: fsyncs::assess_saving },
    AdviceRule { name: "serial", judge: serial::assess_saving },
];

/// Less of the whole is not worth a sentence.
const WORTH: f64 = 0.01;

/// All advice that saves something, the most first.
pub fn collect_advice(evidence: &Evidence<'_>) -> Vec<Advice> {
    let least = evidence.outcome.makespan * WORTH;
    let found = ADVICE.iter().filter_map(|kind| {
        let (saves, sentence) = (kind.judge)(evidence)?;
        (saves > least).then(|| Advice { kind: kind.name.to_owned(), sentence, saves })
    });
    let mut found: Vec<Advice> = found.collect();
    found.sort_by(|a, b| b.saves.get().total_cmp(&a.saves.get()));
    found
}

/// Operations of one kind on one class.
struct OpSum {
    class: usize,
    count: f64,
    /// Of tasks, summed.
    time: Seconds,
}

impl Evidence<'_> {
    /// What operations of this kind take where their files are placed, by class; the longest first.
    fn operations_by_class(&self, op: Op) -> Vec<OpSum> {
        let mut sums: Vec<OpSum> = Vec::new();
        let steps = self.workload.tasks.iter().flat_map(|task| &task.steps);
        for access in steps.flat_map(|step| &step.accesses) {
            let class = self.workload.files[access.files.index()].class.index();
            let home = match &self.choice.placements[class].home {
                FileLocation::Here => &self.choice.project,
                FileLocation::Tier(tier) => tier,
            };
            let Some(profile) = self.site.tier(home).and_then(|tier| tier.profile.as_ref()) else {
                continue;
            };
            for (key, count) in access.ops.iter().filter(|(key, _)| key.op() == op) {
                let at = sums.iter().position(|sum| sum.class == class).unwrap_or_else(|| {
                    sums.push(OpSum { class, count: 0.0, time: Seconds::ZERO });
                    sums.len() - 1
                });
                sums[at].count += count;
                sums[at].time += profile.operation_latency(*key) * *count;
            }
        }
        sums.sort_by(|a, b| b.time.get().total_cmp(&a.time.get()).then(a.class.cmp(&b.class)));
        sums
    }

    /// The wall time behind a time that is summed over parallel tasks of one pipeline.
    fn wall_time(&self, summed: Seconds) -> Seconds {
        let slots = f64::from(self.choice.nodes) * f64::from(self.choice.slots);
        let parallel = (slots * self.outcome.utilisation).max(1.0);
        summed * (f64::from(self.choice.pipelines) / parallel)
    }
}

/// `1234567.2` as `1,234,567`.
fn group_thousands(count: f64) -> String {
    let digits = format!("{count:.0}");
    let mut out = String::new();
    for (number, digit) in digits.chars().enumerate() {
        if number > 0 && (digits.len() - number).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
