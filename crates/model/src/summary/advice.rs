//! One sentence from the data: what to try next. Rules are a table; each looks at the same evidence
//! and estimates the wall time that its advice would save; the best one speaks.
//!
//! What it is not: a planner. It compares no tiers and promises nothing; it names the cost.

mod disk;
mod fsyncs;
mod libraries;
mod not_seen;
mod not_storage;
mod outside;
mod rereads;
mod small_files;
mod small_writes;

use crate::summary::{Advice, FileUse, Summary};
use crate::{ByteCount, Micros};
use std::collections::HashMap;

/// What rules look at.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    /// Everything that the user sees.
    pub(crate) summary: &'a Summary,
    /// Operations by class and kind.
    pub(crate) ops: &'a [OpLine],
    /// Every file that was opened.
    pub(crate) files: &'a [FileUse],
    /// Classes by number.
    pub(crate) classes: &'a HashMap<u32, String>,
    /// The busiest block device.
    pub(crate) disk: Option<Disk>,
    /// How many tasks ran at a time, on average; at least 1.
    pub(crate) parallel: f64,
}

/// Operations of one kind on one class.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpLine {
    /// Its number.
    pub(crate) class: u32,
    /// Its pattern.
    pub(crate) name: String,
    /// The kind.
    pub(crate) op: String,
    /// Size class, or empty.
    pub(crate) size: String,
    /// Pattern, or empty.
    pub(crate) pattern: String,
    /// How many.
    pub(crate) count: u64,
    /// Time, summed over parallel tasks.
    pub(crate) time: Micros,
    /// Bytes.
    pub(crate) bytes: u64,
}

/// A block device.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// Kernel name.
    pub(crate) name: String,
    /// Share of the run with a request under way, 0 to 1.
    pub(crate) busy_share: f64,
    /// Bytes read and written.
    pub(crate) bytes: ByteCount,
}

/// What a rule found.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// How much it matters, in seconds of wall time.
    pub(crate) score_s: f64,
    /// Wall time that may be saved; `None` where no time is at stake.
    pub(crate) saves: Option<Micros>,
    /// One sentence, with its full stop.
    pub(crate) sentence: String,
}

impl Finding {
    /// A finding that saves time.
    fn time_saving(seconds: f64, sentence: String) -> Self {
        let saves = Some(Micros((seconds.max(0.0) * 1e6) as u64));
        Self { score_s: seconds, saves, sentence }
    }
}

struct AdviceRule {
    name: &'static str,
    judge: fn(&Evidence<'_>) -> Option<Finding>,
}

const RULES: &[AdviceRule] = &[
    AdviceRule { name: "not_seen", judge: not_seen::finding_for },
    AdviceRule { name: "outside", judge: outside::finding_for },
    AdviceRule { name: "libraries", judge: libraries::finding_for },
    AdviceRule { name: "fsyncs", judge: fsyncs::finding_for },
    AdviceRule { name: "small_files", judge: small_files::finding_for },
    AdviceRule { name: "small_writes", judge: small_writes::finding_for },
    AdviceRule { name: "rereads", judge: rereads::finding_for },
    AdviceRule { name: "disk", judge: disk::finding_for },
    AdviceRule { name: "not_storage", judge: not_storage::finding_for },
];

/// A shorter run is a try-out: nobody waits for it.
const WALL_MIN: Micros = Micros::from_secs(1);

/// The advice that matters most; of equals the first in the table.
pub(crate) fn best_advice(evidence: &Evidence<'_>) -> Option<Advice> {
    if evidence.summary.wall_us < WALL_MIN {
        return None;
    }
    let found = RULES.iter().filter_map(|rule| Some((rule.name, (rule.judge)(evidence)?)));
    // Where operations were not recorded, or took no time, nothing says that anything is saved.
    let found = found.filter(|(_, finding)| finding.saves != Some(Micros::ZERO));
    let (rule, finding) =
        found.reduce(|best, next| if next.1.score_s > best.1.score_s { next } else { best })?;
    Some(Advice { rule: rule.into(), saves_us: finding.saves, sentence: finding.sentence })
}

impl Evidence<'_> {
    /// The wall time behind a time that is summed over parallel tasks, in seconds.
    fn wall_seconds(&self, summed: Micros) -> f64 {
        summed.as_secs() / self.parallel
    }

    /// Operations of one kind, added up by class: number, pattern, count, time, bytes.
    fn operations_by_class(&self, wanted: impl Fn(&OpLine) -> bool) -> Vec<OpLine> {
        let mut sums: Vec<OpLine> = Vec::new();
        for line in self.ops.iter().filter(|line| wanted(line)) {
            // Lines are in the order of their classes.
            match sums.last_mut().filter(|sum| sum.class == line.class) {
                Some(sum) => {
                    sum.count += line.count;
                    sum.time += line.time;
                    sum.bytes += line.bytes;
                }
                None => sums.push(line.clone()),
            }
        }
        sums
    }
}

/// `1234567` as `1,234,567`.
fn group_thousands(count: u64) -> String {
    let digits = count.to_string();
    let first = digits.len() % 3;
    let mut out = String::from(&digits[..first]);
    for (i, group) in digits.as_bytes()[first..].chunks(3).enumerate() {
        if i > 0 || first > 0 {
            out.push(',');
        }
        out.extend(group.iter().map(|&b| b as char));
    }
    out
}

/// A time of an estimate, for a sentence.
fn estimated_time(seconds: f64) -> Micros {
    Micros((seconds.max(0.0) * 1e6) as u64)
}

#[cfg(test)]
mod tests;
