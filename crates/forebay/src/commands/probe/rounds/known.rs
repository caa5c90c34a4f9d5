//! What is known well enough, and what is not.

use forebay_plan::compare::{self, RUNS_FOR_INTERVAL};

use super::parts::Part;
use super::{Found, Rounds};
use crate::commands::probe::figures::Figure;

/// Half an interval that is no wider than this part of its middle is narrow enough.
const NARROW: f64 = 0.03;

impl Rounds<'_> {
    /// Whether all figures of a part are known well enough.
    pub(super) fn narrow(&self, part: Part) -> bool {
        let (threads, is_of) = part.figures();
        is_of.iter().all(|figure| {
            let seconds = self.found.measured.get(&(*figure, threads));
            let middle = seconds.and_then(|seconds| compare::middle(seconds));
            let rounds = seconds.map_or(0, Vec::len);
            middle.is_some_and(|middle| {
                let wide = (middle.span.high - middle.span.low) / 2.0;
                rounds >= RUNS_FOR_INTERVAL && wide <= middle.median * NARROW
            })
        })
    }

    pub(super) fn done(mut self, parts: &[Part]) -> Found {
        let found = &mut self.found;
        let median = |figure| {
            let seconds: Option<&Vec<f64>> = found.measured.get(&(figure, 1));
            seconds.and_then(|seconds| compare::middle(seconds)).map(|middle| middle.median)
        };
        if let (Some(present), Some(absent)) = (median(Figure::Present), median(Figure::Absent))
            && absent > 100e-6
            && present < absent * 0.3
        {
            found.measured.remove(&(Figure::Present, 1));
            found.left_out.push("look-up of a name that is there: answered by memory".to_owned());
        }
        let ends = parts.iter().filter_map(|part| self.over.get(part));
        let mut short: Vec<&str> = ends.filter(|why| why.starts_with("--")).copied().collect();
        short.sort_unstable();
        short.dedup();
        let few = found.measured.values().filter(|all| all.len() < RUNS_FOR_INTERVAL).count();
        if few > 0 {
            let ended = |option| format!("{option} ended the probe: {few} figures have few rounds");
            found.ended.extend(short.into_iter().map(ended));
        }
        self.found
    }
}
