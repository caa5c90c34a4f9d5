//! What a search came to: the choice, the bound, and why the others lost.

use super::pareto::pareto_front;
use super::visited_points::{Score, VisitedPoints};
use super::with_placement;
use crate::search_space::{SearchPoint, SearchSpace};

/// Times that the proposal moves to something alike that costs less.
const ROUNDS_MAX: usize = 8;

/// A part of the model's error that is not worth a rule.
const TRIFLE: f64 = 0.02;

/// How far a search came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchExtent {
    /// Everything was looked at that could be better: optimal in the model.
    Exhausted,
    /// Time was over before that.
    Stopped,
    /// There is too much to look at all of it.
    Annealed,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// What is proposed.
    pub chosen: SearchPoint,
    /// What it leads to.
    pub score: Score,
    /// What it is worth to the goal: seconds, dollars, seconds for a sample.
    pub value: f64,
    /// All in place, in the first frame.
    pub as_it_is: Result<Score, String>,
    /// The same for it, if it can be.
    pub as_it_is_value: Option<f64>,
    /// The best to the goal, if another one is proposed that the model can't tell from it and that
    /// costs less or moves less.
    pub alike: Option<(SearchPoint, Score)>,
    /// Nothing is worth less, in the model.
    pub bound: f64,
    /// How far the search came.
    pub rung: SearchExtent,
    /// How many classes it chose placements for.
    pub classes: usize,
    /// How many choices were simulated.
    pub simulated: usize,
    /// Nothing is both faster and cheaper than any of these; the fastest first.
    pub front: Vec<(SearchPoint, Score)>,
    /// What lost: all in place, and each single change of what is proposed.
    pub rejected: Vec<RejectedPoint>,
}

/// A choice that lost.
#[derive(Clone, Debug)]
pub struct RejectedPoint {
    /// The choice.
    pub point: SearchPoint,
    /// What it leads to, or why it can't be.
    pub score: Result<Score, String>,
    /// Its worth as a multiple of that of the chosen one.
    pub ratio: Option<f64>,
}

impl SearchResult {
    /// How much better than the proposal something unknown may be at most: 0.1 is 10 %.
    pub fn optimality_gap(&self) -> f64 {
        if self.bound > 0.0 { (self.value / self.bound - 1.0).max(0.0) } else { f64::INFINITY }
    }
}

pub(super) fn conclude_search(
    mut seen: VisitedPoints<'_>,
    free: &[usize],
    floors: &[f64],
    rung: SearchExtent,
) -> Result<SearchResult, String> {
    let start = seen.space.all_in_place();
    let Some(best) = seen.best_point().cloned() else {
        return Err(match seen.known.remove(&start) {
            Some(Err(why)) => why,
            _ => "nothing was simulated".to_owned(),
        });
    };
    let mut chosen = cheapest_alike(&seen, &best);
    let mut near = Vec::new();
    for _ in 0..ROUNDS_MAX {
        near = single_changes(&chosen, seen.space, free);
        seen.simulate_a_few(&near);
        let next = cheapest_alike(&seen, seen.best_point().unwrap_or(&best));
        if next == chosen {
            break;
        }
        chosen = next;
    }
    let best = seen.best_point().cloned().unwrap_or(best);
    chosen = drop_trifling_moves(&mut seen, chosen, free);
    if gains_nothing(&seen, &chosen) {
        chosen = start.clone();
    }
    near.retain(|point| *point != chosen && *point != start);
    near.insert(0, start.clone());
    near.dedup();
    let known = |point: &SearchPoint| seen.known.get(point).cloned();
    let score = |point: &SearchPoint| known(point).and_then(Result::ok);
    let Some(of_chosen) = score(&chosen) else { return Err("nothing was simulated".to_owned()) };
    let value = seen.value_of_score(&chosen, &of_chosen);
    let reject = |point: &SearchPoint| {
        let score = known(point)?;
        let ratio = score.as_ref().ok().map(|score| seen.value_of_score(point, score) / value);
        Some(RejectedPoint { point: point.clone(), score, ratio })
    };
    let rejected = near.iter().filter(|point| **point != chosen).filter_map(reject).collect();
    let least = floors.iter().copied().fold(f64::INFINITY, f64::min);
    let best_value = seen.best_value();
    Ok(SearchResult {
        score: of_chosen,
        value,
        as_it_is: known(&start).unwrap_or_else(|| Err("it was not simulated".to_owned())),
        as_it_is_value: score(&start).map(|score| seen.value_of_score(&start, &score)),
        alike: (best != chosen).then(|| score(&best).map(|score| (best, score))).flatten(),
        // Rounding must not make a bound that is reached look like more than what reaches it.
        bound: least.min(best_value),
        rung,
        classes: free.len(),
        simulated: seen.known.len(),
        front: pareto_front(&seen.known),
        rejected,
        chosen,
    })
}

/// Each other placement of one class, and each frame that differs in one thing.
fn single_changes(point: &SearchPoint, space: &SearchSpace, free: &[usize]) -> Vec<SearchPoint> {
    let mut all = Vec::new();
    for &class in free {
        all.extend(
            (0..space.options[class].len()).map(|option| with_placement(point, class, option)),
        );
    }
    all.extend(
        space
            .frames_near(point.frame)
            .into_iter()
            .map(|frame| SearchPoint { frame, ..point.clone() }),
    );
    all
}

/// The same without moves that serve nothing: each rule that is not needed is one less to explain.
fn drop_trifling_moves(
    seen: &mut VisitedPoints<'_>,
    chosen: SearchPoint,
    free: &[usize],
) -> SearchPoint {
    let limit = seen.value_at(&chosen) * (1.0 + seen.wanted.error * TRIFLE);
    let usd = |seen: &VisitedPoints<'_>, point: &SearchPoint| match seen.known.get(point) {
        Some(Ok(score)) => score.per_sample.map_or(0.0, |usd| usd.get()),
        _ => f64::INFINITY,
    };
    let dear = usd(seen, &chosen) * (1.0 + seen.wanted.error * TRIFLE);
    let mut point = chosen;
    // The least promising ones first.
    for &class in free.iter().rev().filter(|class| point.picks[**class] > 0).collect::<Vec<_>>() {
        let simpler = with_placement(&point, class, 0);
        seen.simulate_a_few(std::slice::from_ref(&simpler));
        if seen.value_at(&simpler) <= limit && usd(seen, &simpler) <= dear {
            point = simpler;
        }
    }
    point
}

/// Whether the model can't tell a proposal from everything as it is, in what is wanted or in
/// dollars: then nothing is proposed.
fn gains_nothing(seen: &VisitedPoints<'_>, chosen: &SearchPoint) -> bool {
    let start = seen.space.all_in_place();
    let error = 1.0 + seen.wanted.error;
    let usd = |point: &SearchPoint| match seen.known.get(point) {
        Some(Ok(score)) => score.per_sample.map_or(0.0, |usd| usd.get()),
        _ => f64::INFINITY,
    };
    let is_as_good = seen.value_at(&start) <= seen.best_value() * error;
    is_as_good && usd(&start) <= usd(chosen) * error
}

/// Of all that the model can't tell from the best, what costs least, and of these what moves least.
fn cheapest_alike(seen: &VisitedPoints<'_>, best: &SearchPoint) -> SearchPoint {
    let limit = seen.value_at(best) * (1.0 + seen.wanted.error);
    let alike = seen.known.iter().filter_map(|(point, score)| {
        let score = score.as_ref().ok()?;
        (seen.value_of_score(point, score) <= limit).then_some(())?;
        Some((
            score.per_sample?.get(),
            seen.space.count_moved_classes(point),
            seen.value_of_score(point, score),
            point,
        ))
    });
    let cheapest = alike.min_by(|a, b| {
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)).then_with(|| a.3.cmp(b.3))
    });
    // Nobody knows prices: time is all there is to save.
    cheapest.map_or_else(|| best.clone(), |(.., point)| point.clone())
}
