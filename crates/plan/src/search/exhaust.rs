//! All points, but for those that can't be better: their bound is no less than the best.

use super::goal::Goal;
use super::visited_points::VisitedPoints;
use crate::bound::{LowerBounds, Objective};
use crate::search_space::SearchPoint;

/// So many at a time: enough for all threads, few enough to learn from.
const BATCH: usize = 64;

struct BranchAndBound<'w, 'a> {
    seen: &'w mut VisitedPoints<'a>,
    bounds: &'w LowerBounds,
    aims: &'w [Objective],
    free: &'w [usize],
    waiting: Vec<SearchPoint>,
}

/// Whether everything was looked at.
pub(super) fn visit_all_points(
    seen: &mut VisitedPoints<'_>,
    bounds: &LowerBounds,
    aims: &[Objective],
    floors: &[f64],
    free: &[usize],
) -> bool {
    let mut frames: Vec<usize> = (0..floors.len()).collect();
    frames.sort_by(|a, b| floors[*a].total_cmp(&floors[*b]).then(a.cmp(b)));
    let start = seen.space.all_in_place();
    // Machines that may be taken away are never faster: where they are cheaper and as good, the
    // look at what is near the best finds them.
    let all = &seen.space.frames;
    let no_spot =
        seen.wanted.goal != Goal::Cheapest && all.iter().any(|frame| frame.spot.is_none());
    frames.retain(|frame| !(no_spot && all[*frame].spot.is_some()));
    let mut walk = BranchAndBound { seen, bounds, aims, free, waiting: Vec::new() };
    for frame in frames {
        if floors[frame] >= walk.seen.best_value() {
            continue;
        }
        // What nobody chooses stays in place.
        let mut picks: Vec<Option<u8>> = vec![Some(0); start.picks.len()];
        for class in free {
            picks[*class] = None;
        }
        if !walk.visit_subtree(frame, &mut picks, 0) {
            return false;
        }
    }
    walk.flush()
}

impl BranchAndBound<'_, '_> {
    fn visit_subtree(&mut self, frame: usize, picks: &mut [Option<u8>], depth: usize) -> bool {
        let space = self.seen.space;
        let bound = self.bounds.partial_bound(&space.frames[frame], picks, &self.aims[frame]);
        if bound >= self.seen.best_value() {
            return true;
        }
        let Some(&class) = self.free.get(depth) else {
            let picks = picks.iter().map(|pick| pick.unwrap_or(0)).collect();
            self.waiting.push(SearchPoint { frame, picks });
            return self.waiting.len() < BATCH || self.flush();
        };
        let mut options: Vec<usize> = (0..space.options[class].len()).collect();
        options.sort_by(|a, b| {
            let waits = |option| self.bounds.weighted_cost(&self.aims[frame], class, option);
            waits(*a).total_cmp(&waits(*b)).then(a.cmp(b))
        });
        for option in options {
            picks[class] = Some(option as u8);
            if !self.visit_subtree(frame, picks, depth + 1) {
                return false;
            }
        }
        picks[class] = None;
        true
    }

    fn flush(&mut self) -> bool {
        let points = std::mem::take(&mut self.waiting);
        self.seen.simulate_unknown(&points)
    }
}
