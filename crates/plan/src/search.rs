//! Finds the choice that serves a goal best in the model, and says how far from the best it may be.
//!
//! A ladder that may be left at any rung: descents from several starts, then either all that could
//! be better (few classes: the result is proven) or annealing from a seed. Whoever calls says after
//! each batch whether there is time left, and simulates: on as many threads as there are, for a
//! batch has no order. What it is not: a clock, a simulator, or sure of more than the model is.

mod anneal;
mod descend;
mod exhaust;
mod goal;
mod pareto;
mod search_result;
mod visited_points;

pub use goal::Goal;
pub use search_result::{RejectedPoint, SearchExtent, SearchResult};
pub use visited_points::Score;

use crate::Choice;
use crate::bound::{LowerBounds, Objective};
use crate::search_space::{Configuration, SearchPoint, SearchSpace};
use forebay_model::{Placement, Seconds, Usd};
use visited_points::VisitedPoints;

/// Says what choices lead to.
pub trait ChoiceEvaluator {
    /// The same order as the choices; an error is the reason why a choice can't be.
    fn score_choices(&mut self, choices: &[Choice]) -> Vec<Result<Score, String>>;

    /// What a second costs with this frame at least; `None`: nobody knows prices.
    fn rent_per_second(&self, frame: &Configuration) -> Option<Usd>;

    /// What one pipeline's files of this class cost at least with this placement, whatever the
    /// time.
    fn placement_toll(&self, _class: usize, _placement: &Placement) -> Usd {
        Usd::ZERO
    }

    /// How much later all is done at least because of these files, whatever the tasks do: results
    /// come home after the last task.
    fn minimum_delay(
        &self,
        _frame: &Configuration,
        _class: usize,
        _placement: &Placement,
    ) -> Seconds {
        Seconds::ZERO
    }
}

/// What is wanted of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchRequest {
    /// What is best.
    pub goal: Goal,
    /// How many times the workload is to be done.
    pub samples: u32,
    /// For all that is random.
    pub seed: u64,
    /// By which share predictions may be wrong: smaller differences are none.
    pub error: f64,
}

/// With fewer classes all placements are looked at, those that can't be better by their bound only.
const EXHAUST_CLASSES_MAX: usize = 10;
/// And not more points than this: the bounds alone take too long.
const EXHAUST_POINTS_MAX: f64 = 5e6;
/// A class that less than this part of the waits is for stays in place.
const MATTERS: f64 = 1e-3;

/// Looks for the best choice until it is found, or `go_on` (which is told how many choices have
/// been simulated) says no.
///
/// # Errors
/// No choice is possible: the reason why that in place is not.
pub fn find_best_choice(
    space: &SearchSpace,
    bounds: &LowerBounds,
    judge: &mut dyn ChoiceEvaluator,
    wanted: SearchRequest,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<SearchResult, String> {
    let aims = aims_by_frame(space, judge, &wanted);
    let count = space.frames.len();
    let frames = space.frames.iter().zip(&aims);
    let floors: Vec<f64> =
        frames.map(|(frame, aim)| bounds.relaxed_bound(frame, aim, count)).collect();
    let mut seen = VisitedPoints::new(space, judge, wanted, go_on);
    let free = rank_free_classes(space, bounds, &aims[0]);
    descend::from_several(&mut seen, bounds, &aims[0], &free);
    let points = free.iter().map(|class| space.options[*class].len() as f64).product::<f64>()
        * space.frames.len() as f64;
    let rung = if free.len() <= EXHAUST_CLASSES_MAX && points <= EXHAUST_POINTS_MAX {
        let done = exhaust::visit_all_points(&mut seen, bounds, &aims, &floors, &free);
        if done { SearchExtent::Exhausted } else { SearchExtent::Stopped }
    } else {
        anneal::from_the_best(&mut seen, &free);
        descend::from_the_best(&mut seen, &free);
        SearchExtent::Annealed
    };
    search_result::conclude_search(seen, &free, &floors, rung)
}

/// The goal as a price of time and tolls, for each frame.
fn aims_by_frame(
    space: &SearchSpace,
    judge: &dyn ChoiceEvaluator,
    wanted: &SearchRequest,
) -> Vec<Objective> {
    let aim = |frame: &Configuration| {
        let time = wanted.goal.price_of_time(frame, wanted.samples, judge.rent_per_second(frame));
        let toll = |class: usize, placement: &Placement| {
            let delay = judge.minimum_delay(frame, class, placement).get() * time;
            match wanted.goal {
                Goal::Cheapest => delay + judge.placement_toll(class, placement).get(),
                Goal::Fastest | Goal::Throughput => delay,
            }
        };
        let classes = space.options.iter().enumerate();
        let tolls = classes.map(|(class, all)| all.iter().map(|p| toll(class, p)).collect());
        Objective { time, tolls: tolls.collect() }
    };
    space.frames.iter().map(aim).collect()
}

/// The classes that are worth a thought, those that promise most first. A class that is waited for
/// is worth one even where others wait for less elsewhere: it may make room for them.
fn rank_free_classes(space: &SearchSpace, bounds: &LowerBounds, aim: &Objective) -> Vec<usize> {
    let look = |class: usize| {
        let worth = |option: usize| bounds.weighted_cost(aim, class, option);
        let best = (0..space.options[class].len()).map(worth).fold(f64::INFINITY, f64::min);
        let gain = worth(0) - best;
        (gain, gain.max(aim.time * bounds.waiting_seconds(class, 0)), class)
    };
    let mut free: Vec<(f64, f64, usize)> = space.free_classes().into_iter().map(look).collect();
    free.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let least = MATTERS * free.iter().map(|(_, weight, _)| weight).sum::<f64>();
    free.retain(|(_, weight, _)| *weight > least);
    free.into_iter().map(|(.., class)| class).collect()
}

/// The point with another placement of one class.
fn with_placement(point: &SearchPoint, class: usize, option: usize) -> SearchPoint {
    let mut other = point.clone();
    other.picks[class] = option as u8;
    other
}

#[cfg(test)]
mod tests;
