//! What the product promises, one line each, and how a figure is judged against it.

use crate::saved_results::{Arm, RunUser};
use crate::stats::{BoundSide, MedianBound, bound_median};

/// What a median and its bound are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TargetLimit {
    /// Covered / bare, at least.
    Ratio(f64),
    /// Rate of the covered run in MiB/s, at least.
    MibPerSecond(f64),
    /// Covered minus bare, milliseconds, at most.
    ExtraMs(f64),
    /// More wall time: the median at most, its bound at most; shares of the bare time.
    Overhead(f64, f64),
    /// No promise; only shown.
    None,
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetVerdict {
    /// Median and bound keep the promise.
    Pass,
    /// The median keeps it; the runs do not show it with 95 %.
    Undecided,
    /// The median does not keep it.
    Miss,
    /// Nothing was promised.
    Shown,
    /// No run succeeded.
    Failed,
}

impl TargetVerdict {
    /// True when the promise is broken.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Miss | Self::Failed)
    }

    /// The word in the table.
    pub fn table_word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Undecided => "median passes, bound does not",
            Self::Miss => "**miss**",
            Self::Shown => "",
            Self::Failed => "**failed**",
        }
    }
}

const GIB: f64 = 1024.0;

/// Promises of the micro workloads.
pub const MICRO: &[(&str, RunUser, TargetLimit)] = &[
    ("write-seq", RunUser::Root, TargetLimit::Ratio(0.9)),
    ("write-seq-fsync", RunUser::Root, TargetLimit::Ratio(0.9)),
    ("write-seq-4k", RunUser::Root, TargetLimit::Ratio(0.7)),
    ("read-seq-cold", RunUser::Root, TargetLimit::Ratio(0.9)),
    ("read-seq-first", RunUser::Root, TargetLimit::Ratio(0.9)),
    ("read-seq-again", RunUser::Root, TargetLimit::Ratio(0.9)),
    ("read-rand-4k", RunUser::Root, TargetLimit::Ratio(0.8)),
    ("write-rand-4k", RunUser::Root, TargetLimit::Ratio(0.7)),
    ("write-seq", RunUser::User, TargetLimit::MibPerSecond(GIB)),
    ("read-seq-first", RunUser::User, TargetLimit::MibPerSecond(GIB)),
    ("read-seq-again", RunUser::User, TargetLimit::MibPerSecond(GIB)),
    ("create-300", RunUser::Root, TargetLimit::Ratio(0.25)),
    ("create-300", RunUser::User, TargetLimit::Ratio(0.25)),
    ("read-small-first", RunUser::Root, TargetLimit::Ratio(0.10)),
    ("read-small-first", RunUser::User, TargetLimit::Ratio(0.10)),
    ("read-small-again", RunUser::Root, TargetLimit::Ratio(0.10)),
    ("read-small-again", RunUser::User, TargetLimit::Ratio(0.10)),
    ("stat-watched", RunUser::Root, TargetLimit::Ratio(0.8)),
    ("stat-watched", RunUser::User, TargetLimit::Ratio(0.8)),
    ("append-fsync", RunUser::Root, TargetLimit::Ratio(0.5)),
    ("append-fsync", RunUser::User, TargetLimit::Ratio(0.5)),
    ("packed-create-300", RunUser::Root, TargetLimit::Ratio(0.40)),
    ("packed-create-300", RunUser::User, TargetLimit::Ratio(0.40)),
    ("packed-create-300-8", RunUser::Root, TargetLimit::Ratio(0.35)),
    ("packed-create-300-8", RunUser::User, TargetLimit::Ratio(0.35)),
    ("packed-stat", RunUser::Root, TargetLimit::Ratio(0.8)),
    ("packed-stat", RunUser::User, TargetLimit::Ratio(0.8)),
    ("packed-unlink", RunUser::Root, TargetLimit::Ratio(0.5)),
    ("packed-unlink", RunUser::User, TargetLimit::Ratio(0.5)),
    ("packed-append-fsync", RunUser::Root, TargetLimit::Ratio(0.5)),
    ("packed-append-fsync", RunUser::User, TargetLimit::Ratio(0.5)),
    ("uring-create-300", RunUser::Root, TargetLimit::Ratio(0.29)),
    ("uring-create-300-8", RunUser::Root, TargetLimit::Ratio(0.27)),
    ("uring-stat", RunUser::Root, TargetLimit::Ratio(0.14)),
    ("uring-read-small", RunUser::Root, TargetLimit::Ratio(0.15)),
    ("uring-unlink", RunUser::Root, TargetLimit::Ratio(0.33)),
    ("uring-create-300", RunUser::User, TargetLimit::Ratio(0.25)),
    ("uring-create-300-8", RunUser::User, TargetLimit::Ratio(0.22)),
    ("uring-stat", RunUser::User, TargetLimit::Ratio(0.12)),
    ("uring-read-small", RunUser::User, TargetLimit::Ratio(0.12)),
    ("uring-unlink", RunUser::User, TargetLimit::Ratio(0.30)),
    ("uring-packed-create-300", RunUser::Root, TargetLimit::Ratio(0.40)),
    ("uring-packed-create-300-8", RunUser::Root, TargetLimit::Ratio(0.38)),
    ("uring-packed-stat", RunUser::Root, TargetLimit::Ratio(0.15)),
    ("uring-packed-read-small", RunUser::Root, TargetLimit::Ratio(0.18)),
    ("uring-packed-unlink", RunUser::Root, TargetLimit::Ratio(0.65)),
    ("whole-create-300", RunUser::Root, TargetLimit::Ratio(2.5)),
    ("whole-create-300", RunUser::User, TargetLimit::Ratio(2.5)),
    ("whole-create-300-8", RunUser::Root, TargetLimit::Ratio(1.5)),
    ("whole-create-300-8", RunUser::User, TargetLimit::Ratio(1.5)),
    ("whole-stat", RunUser::Root, TargetLimit::Ratio(0.95)),
    ("whole-stat", RunUser::User, TargetLimit::Ratio(0.95)),
    ("whole-read-small", RunUser::Root, TargetLimit::Ratio(0.95)),
    ("whole-read-small", RunUser::User, TargetLimit::Ratio(0.95)),
    ("whole-unlink", RunUser::Root, TargetLimit::Ratio(2.0)),
    ("whole-unlink", RunUser::User, TargetLimit::Ratio(2.0)),
    ("beside-create-300", RunUser::Root, TargetLimit::Ratio(0.95)),
    ("beside-create-300", RunUser::User, TargetLimit::Ratio(0.95)),
    ("beside-create-300-8", RunUser::Root, TargetLimit::Ratio(0.90)),
    ("beside-create-300-8", RunUser::User, TargetLimit::Ratio(0.90)),
    ("beside-stat", RunUser::Root, TargetLimit::Ratio(0.95)),
    ("beside-stat", RunUser::User, TargetLimit::Ratio(0.95)),
    ("beside-read-small", RunUser::Root, TargetLimit::Ratio(0.95)),
    ("beside-read-small", RunUser::User, TargetLimit::Ratio(0.95)),
    ("beside-unlink", RunUser::Root, TargetLimit::Ratio(0.95)),
    ("beside-unlink", RunUser::User, TargetLimit::Ratio(0.95)),
    ("bpf-create-300", RunUser::Root, TargetLimit::Ratio(0.95)),
    ("bpf-create-300-8", RunUser::Root, TargetLimit::Ratio(0.90)),
    ("bpf-stat", RunUser::Root, TargetLimit::Ratio(0.90)),
    ("bpf-read-small", RunUser::Root, TargetLimit::Ratio(0.75)),
    ("bpf-unlink", RunUser::Root, TargetLimit::Ratio(0.95)),
    ("notify-create-300", RunUser::Root, TargetLimit::Ratio(0.70)),
    ("notify-create-300", RunUser::User, TargetLimit::Ratio(0.70)),
    ("notify-create-300-8", RunUser::Root, TargetLimit::Ratio(0.50)),
    ("notify-create-300-8", RunUser::User, TargetLimit::Ratio(0.50)),
    ("notify-stat", RunUser::Root, TargetLimit::Ratio(0.90)),
    ("notify-stat", RunUser::User, TargetLimit::Ratio(0.90)),
    ("notify-read-small", RunUser::Root, TargetLimit::Ratio(0.45)),
    ("notify-read-small", RunUser::User, TargetLimit::Ratio(0.45)),
    ("notify-unlink", RunUser::Root, TargetLimit::Ratio(0.60)),
    ("notify-unlink", RunUser::User, TargetLimit::Ratio(0.60)),
    ("run-true", RunUser::Root, TargetLimit::ExtraMs(100.0)),
    ("run-true", RunUser::User, TargetLimit::ExtraMs(100.0)),
];

/// Resident memory of the daemon while thousands of files are made, at most, MiB.
pub const MEMORY_MIB: f64 = 20.0;

/// Requests to the daemon for each operation, at most, whoever asks.
pub const REQUESTS: &[(&str, f64)] = &[("packed-create-300", 5.0), ("packed-create-300-8", 5.0)];

/// Share of an operation that the start of a run and its directories may cost in requests.
const REQUESTS_BESIDE: f64 = 0.05;

/// The promised number of requests for each operation, and whether `seen` keeps it.
pub fn judge_requests(name: &str, seen: f64) -> Option<(f64, TargetVerdict)> {
    let (_, most) = REQUESTS.iter().find(|(wanted, _)| *wanted == name)?;
    let verdict =
        if seen <= most + REQUESTS_BESIDE { TargetVerdict::Pass } else { TargetVerdict::Miss };
    Some((*most, verdict))
}

/// The promise of a micro workload.
pub fn micro_goal(name: &str, who: RunUser) -> TargetLimit {
    let found = MICRO.iter().find(|(wanted, as_whom, _)| *wanted == name && *as_whom == who);
    found.map_or(TargetLimit::None, |(.., goal)| *goal)
}

/// A pipeline that does little but wait for its file system, and the most that a mount, and a
/// recorder without one, may add to it.
const FILES_ALONE: (&str, f64, f64) = ("sqlite", 0.20, 0.02);

/// The promise for a whole pipeline.
pub fn pipeline_goal(name: &str, arm: Arm) -> TargetLimit {
    let (files_alone, most_mounted, most_bare) = FILES_ALONE;
    match arm {
        Arm::Bare => TargetLimit::None,
        Arm::Bpf | Arm::Notify if name == files_alone => {
            TargetLimit::Overhead(most_bare, most_bare)
        }
        _ if name == files_alone => TargetLimit::Overhead(most_mounted, most_mounted),
        Arm::Covered => TargetLimit::Overhead(0.03, 0.06),
        Arm::EveryRead => TargetLimit::Overhead(0.10, 0.10),
        Arm::Rules => TargetLimit::Overhead(0.05, 0.05),
        Arm::Bpf => TargetLimit::Overhead(0.01, 0.01),
        Arm::Notify => TargetLimit::Overhead(0.03, 0.03),
    }
}

/// Bare and covered figure of one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockPair {
    /// Without Forebay.
    pub bare: f64,
    /// Under it.
    pub covered: f64,
}

impl TargetLimit {
    /// The figure of one pair that is compared.
    fn compared_figure(self, pair: &BlockPair) -> f64 {
        match self {
            Self::Ratio(_) | Self::None => pair.covered / pair.bare,
            Self::MibPerSecond(_) => pair.covered,
            Self::ExtraMs(_) => pair.covered - pair.bare,
            Self::Overhead(..) => pair.covered / pair.bare - 1.0,
        }
    }

    /// The side on which a bound matters.
    fn bound_side(self) -> BoundSide {
        match self {
            Self::Ratio(_) | Self::MibPerSecond(_) | Self::None => BoundSide::Lower,
            Self::ExtraMs(_) | Self::Overhead(..) => BoundSide::Upper,
        }
    }

    /// Median and bound of the compared figure.
    pub fn compare_pairs(self, pairs: &[BlockPair]) -> MedianBound {
        let figures: Vec<f64> = pairs.iter().map(|pair| self.compared_figure(pair)).collect();
        bound_median(&figures, self.bound_side())
    }

    /// Judges median and bound.
    pub fn assess_median(self, seen: &MedianBound) -> TargetVerdict {
        if seen.runs == 0 {
            return TargetVerdict::Failed;
        }
        let (median, bound) = match self {
            Self::None => return TargetVerdict::Shown,
            Self::Ratio(least) | Self::MibPerSecond(least) => {
                (seen.median >= least, seen.bound >= least)
            }
            Self::ExtraMs(most) => (seen.median <= most, seen.bound <= most),
            Self::Overhead(most, bound) => (seen.median <= most, seen.bound <= bound),
        };
        match (median, bound && seen.is_bound) {
            (false, _) => TargetVerdict::Miss,
            (true, false) => TargetVerdict::Undecided,
            (true, true) => TargetVerdict::Pass,
        }
    }

    /// The promise in words.
    pub fn in_words(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Ratio(least) => format!("ratio ≥ {least:.2}"),
            Self::MibPerSecond(least) => format!("≥ {least:.0} MiB/s"),
            Self::ExtraMs(most) => format!("≤ {most:.0} ms more"),
            Self::Overhead(most, bound) if most == bound => format!("≤ {:.0} %", most * 100.0),
            Self::Overhead(most, bound) => {
                format!("≤ {:.0} %, bound ≤ {:.0} %", most * 100.0, bound * 100.0)
            }
        }
    }

    /// A figure with its unit.
    pub fn format_figure(self, figure: f64) -> String {
        match self {
            Self::None | Self::Ratio(_) => format!("{figure:.2}"),
            Self::MibPerSecond(_) => format!("{figure:.0} MiB/s"),
            Self::ExtraMs(_) => format!("{figure:+.1} ms"),
            Self::Overhead(..) => format!("{:+.1} %", figure * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(covered: &[f64]) -> Vec<BlockPair> {
        covered.iter().map(|covered| BlockPair { bare: 10.0, covered: *covered }).collect()
    }

    #[test]
    fn a_ratio_passes_only_with_its_bound() {
        let goal = TargetLimit::Ratio(0.9);
        let verdict = |covered: &[f64]| goal.assess_median(&goal.compare_pairs(&pairs(covered)));
        assert_eq!(verdict(&[9.5, 9.6, 9.7, 9.5, 9.4, 9.3, 9.2]), TargetVerdict::Pass);
        assert_eq!(verdict(&[9.5, 9.6, 9.7, 9.5, 9.4, 9.3, 8.2]), TargetVerdict::Undecided);
        assert_eq!(
            verdict(&[9.5, 9.6, 9.7]),
            TargetVerdict::Undecided,
            "three runs show a range only"
        );
        assert_eq!(verdict(&[8.5, 8.6, 9.7, 8.5, 8.4, 9.3, 8.2]), TargetVerdict::Miss);
    }

    #[test]
    fn overheads_and_extras_are_judged_from_above() {
        let goal = TargetLimit::Overhead(0.03, 0.06);
        let mut covered = vec![10.2; 15];
        assert_eq!(goal.assess_median(&goal.compare_pairs(&pairs(&covered))), TargetVerdict::Pass);
        covered[..4].fill(11.0);
        assert_eq!(
            goal.assess_median(&goal.compare_pairs(&pairs(&covered))),
            TargetVerdict::Undecided
        );
        covered[..8].fill(11.0);
        assert_eq!(goal.assess_median(&goal.compare_pairs(&pairs(&covered))), TargetVerdict::Miss);
        let extra = TargetLimit::ExtraMs(100.0);
        assert_eq!(
            extra.assess_median(&extra.compare_pairs(&pairs(&[60.0; 7]))),
            TargetVerdict::Pass
        );
        assert_eq!(
            extra.assess_median(&extra.compare_pairs(&pairs(&[160.0; 7]))),
            TargetVerdict::Miss
        );
    }

    #[test]
    fn every_promise_names_a_workload() {
        for (name, who, _) in MICRO {
            assert!(crate::workloads::find_workload(name).is_ok(), "{name}");
            assert_ne!(micro_goal(name, *who), TargetLimit::None);
        }
        assert_eq!(micro_goal("rename", RunUser::Root), TargetLimit::None);
        for (name, _) in REQUESTS {
            assert!(crate::workloads::find_workload(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn requests_are_judged_and_those_of_the_start_are_forgiven() {
        let verdict = |seen| judge_requests("packed-create-300", seen).map(|(_, verdict)| verdict);
        assert_eq!(verdict(5.02), Some(TargetVerdict::Pass));
        assert_eq!(verdict(5.5), Some(TargetVerdict::Miss));
        assert_eq!(judge_requests("create-300", 9.0), None);
    }
}
