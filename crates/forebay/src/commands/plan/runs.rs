//! The runs that a plan is made from: which of them is learnt from, and how far the next one may be
//! off.

use std::path::PathBuf;

use forebay_plan::LearntRun;

use super::NO_PLAN;
use crate::exit::CommandError;
use crate::storages::learn_from_run;

/// By which share one more run differs at least, on machines that others use, too: runs in a row
/// may agree better, those of another hour did not (rnaSPAdes, 8.4 to 11.5 s).
const SCATTER_MIN: f64 = 0.1;
/// Standard deviation over range for 2 to 6 values of a normal distribution (1 over the d2 of
/// control charts; W. A. Shewhart).
const OF_RANGE: [f64; 5] = [0.886, 0.591, 0.486, 0.430, 0.395];
/// Nine of ten values are within so many standard deviations.
const NINE_OF_TEN: f64 = 1.645;
/// Tasks share caches, memory and a core's units with those beside them. The same workflow took
/// 1.5 to 2.0 times as long one task at a time as two at a time on two cores, so with half as many
/// tasks at once a task may take a quarter less than what one run shows.
const CROWD: f64 = 0.5;

/// What the runs come to.
pub(super) struct LearntRuns {
    /// What the middle one teaches, of those that had as many slots as the site.
    pub(super) learnt: LearntRun,
    /// Its file systems.
    pub(super) fs_types: Vec<String>,
    /// By which share one more run, with as many slots as the site has, may differ.
    pub(super) scatter: f64,
    /// What to tell about it.
    pub(super) told: Vec<String>,
}

type RunWithNotes = (LearntRun, Vec<String>);

impl LearntRuns {
    /// Learns all runs, for a site with so many slots on a node.
    pub(super) fn learn_runs(paths: &[PathBuf], slots: Option<u32>) -> Result<Self, CommandError> {
        let mut all = Vec::new();
        for path in paths {
            let hint = "`forebay run -o FILE -- COMMAND` makes a run file";
            let stop = |error: String| CommandError::new(NO_PLAN, error, hint);
            all.push(learn_from_run(path).map_err(stop)?);
        }
        Ok(Self::from_learnt(all, slots))
    }

    fn from_learnt(mut all: Vec<RunWithNotes>, slots: Option<u32>) -> Self {
        let crowd = |one: &RunWithNotes| f64::from(one.0.measured.slots);
        // How much more or less goes on at once than on the site, as a share of the more.
        let off = |one: &RunWithNotes| {
            slots.map_or(0.0, |slots| {
                let slots = f64::from(slots);
                1.0 - slots.min(crowd(one)) / slots.max(crowd(one)).max(1.0)
            })
        };
        let least = all.iter().map(off).fold(f64::INFINITY, f64::min);
        all.retain(|one| off(one) <= least);
        let time = |one: &RunWithNotes| one.0.measured.makespan.get();
        all.sort_by(|a, b| time(a).total_cmp(&time(b)));
        let (first, last) = (all.first().map_or(0.0, time), all.last().map_or(0.0, time));
        let count = all.len();
        let (learnt, fs_types) = all.swap_remove(count / 2);
        let middle = learnt.measured.makespan.get();
        let scatter = (count > 1 && middle > 0.0).then(|| {
            let deviation = OF_RANGE[(count - 2).min(OF_RANGE.len() - 1)] * (last - first);
            NINE_OF_TEN * deviation * (1.0 + 1.0 / count as f64).sqrt() / middle
        });
        let mut told = vec![match scatter {
            None => {
                "one run does not show by how much runs differ: several can be given".to_owned()
            }
            Some(share) => {
                format!("as the runs differ, one more may be {:.0} % off", share * 100.0)
            }
        }];
        let crowd = CROWD * least;
        if let (Some(slots), true) = (slots, crowd > 0.0) {
            let ran = learnt.measured.slots;
            told.push(format!(
                "tasks ran {ran} at a time, and the site has {slots} slots: how long they compute \
                 beside so many others was not measured ({:.0} % off, perhaps); a run with {slots} \
                 slots, given beside the others, tells",
                crowd * 100.0
            ));
        }
        let scatter = scatter.unwrap_or(0.0).max(SCATTER_MIN);
        Self { learnt, fs_types, scatter: (scatter * scatter + crowd * crowd).sqrt(), told }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a prediction for one task at a time is made from tasks that ran side by side,
    //! and nobody is told.
    use super::*;
    use forebay_model::summary::TimeSplit;
    use forebay_model::{Seconds, Workload};
    use forebay_plan::ForebayOverhead;
    use forebay_plan::learn::MeasuredRun;

    fn run(name: &str, makespan: f64, slots: u32) -> RunWithNotes {
        let workload = Workload { name: name.to_owned(), ..Workload::default() };
        let time = TimeSplit::default();
        let measured = MeasuredRun { makespan: Seconds(makespan), slots, time, verdict: None };
        let own = ForebayOverhead { request: Seconds::ZERO, remembers_answers: true };
        let learnt = LearntRun {
            run: name.to_owned(),
            workload,
            storages: vec![],
            measured,
            own,
            emptied_folders: vec![],
        };
        (learnt, vec![])
    }

    #[test]
    fn of_several_runs_the_middle_one_with_as_many_slots_is_learnt_from() {
        let all =
            || vec![run("a", 10.0, 2), run("b", 16.0, 1), run("c", 11.0, 2), run("d", 12.0, 2)];
        let two = LearntRuns::from_learnt(all(), Some(2));
        assert_eq!((two.learnt.workload.name.as_str(), two.told.len()), ("c", 1));
        assert!((two.scatter - 1.645 * 0.591 * 2.0 * (4.0_f64 / 3.0).sqrt() / 11.0).abs() < 1e-9);
        let one = LearntRuns::from_learnt(all(), Some(1));
        assert_eq!((one.learnt.workload.name.as_str(), one.scatter), ("b", SCATTER_MIN));
        // Nobody ran four at once: those with two are nearest, and it is said.
        let four = LearntRuns::from_learnt(all(), Some(4));
        assert_eq!(four.learnt.workload.name, "c");
        assert!(four.told[1].contains("2 at a time, and the site has 4 slots"), "{:?}", four.told);
        assert!(four.scatter > CROWD / 2.0, "{}", four.scatter);
        // A site that does not say has those of the run.
        assert_eq!(LearntRuns::from_learnt(all(), None).told.len(), 1);
    }
}
