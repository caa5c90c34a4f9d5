//! What is known well enough, and what is not.

use forebay_plan::compare::{self, RUNS_FOR_INTERVAL};

use super::round_parts::RoundPart;
use super::{ProbeFindings, ProbeRounds};
use crate::commands::probe::measured_figures::{Figure, FigureSeconds};

/// Half an interval that is no wider than this part of its middle is narrow enough.
const NARROW: f64 = 0.03;
/// What takes longer, in seconds, another machine or a disk was asked for.
const ASKED: f64 = 100e-6;

/// Whether all these figures are known well enough, at so many threads.
pub(in super::super) fn is_known_precisely(
    measured: &FigureSeconds,
    (threads, figures): (u32, &[Figure]),
) -> bool {
    figures.iter().all(|figure| {
        let seconds = measured.get(&(*figure, threads));
        let middle = seconds.and_then(|seconds| compare::median_with_interval(seconds));
        let rounds = seconds.map_or(0, Vec::len);
        middle.is_some_and(|middle| {
            let wide = (middle.span.high - middle.span.low) / 2.0;
            rounds >= RUNS_FOR_INTERVAL && wide <= middle.median * NARROW
        })
    })
}

/// Notes what ended the probe before all was known.
pub(in super::super) fn note_early_end<'w>(
    found: &mut ProbeFindings,
    ends: impl Iterator<Item = &'w str>,
) {
    let mut short: Vec<&str> = ends.filter(|why| why.starts_with("--")).collect();
    short.sort_unstable();
    short.dedup();
    let few = found.measured.values().filter(|all| all.len() < RUNS_FOR_INTERVAL).count();
    if few > 0 {
        let ended = |option| format!("{option} ended the probe: {few} figures have few rounds");
        found.ended.extend(short.into_iter().map(ended));
    }
}

impl ProbeRounds<'_> {
    pub(super) fn into_found(mut self, parts: &[RoundPart]) -> ProbeFindings {
        let found = &mut self.found;
        if is_answered_by_cache(&found.measured) {
            found.measured.remove(&(Figure::Present, 1));
            found.left_out.push(format!("{}: answered by memory", Figure::Present.name()));
        }
        note_early_end(found, parts.iter().filter_map(|part| self.over.get(part)).copied());
        self.found
    }
}

/// Whether a name that is there is found so much faster than one that is not that no storage was
/// asked for it. Where both take microseconds, the kernel of this machine is the storage's own.
fn is_answered_by_cache(measured: &FigureSeconds) -> bool {
    let median = |figure| Some(compare::median_with_interval(measured.get(&(figure, 1))?)?.median);
    let both = median(Figure::Present).zip(median(Figure::Absent));
    both.is_some_and(|(present, absent)| absent > ASKED && present < absent * 0.3)
}

#[cfg(test)]
mod tests {
    //! A name that the kernel remembers would be a look-up that costs nothing.
    use super::*;

    #[test]
    fn names_that_memory_knows_are_told_from_those_that_were_asked_for() {
        for (present, absent, from_memory) in
            [(2e-6, 5e-3, true), (5.3e-3, 5e-3, false), (2.1e-3, 5e-3, false), (4e-7, 3e-6, false)]
        {
            let figures = [(Figure::Present, present), (Figure::Absent, absent)];
            let measured = figures.map(|(figure, seconds)| ((figure, 1), vec![seconds; 3]));
            assert_eq!(
                is_answered_by_cache(&FigureSeconds::from(measured)),
                from_memory,
                "{present} {absent}"
            );
        }
        assert!(!is_answered_by_cache(&FigureSeconds::new()));
    }
}
