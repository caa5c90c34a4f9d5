//! Descents: one class after the other takes the placement that is best with all others as they
//! are, until none moves.

use super::visited_points::VisitedPoints;
use super::with_placement;
use crate::bound::{LowerBounds, Objective};
use crate::search_space::SearchPoint;

/// A descent that still moves after so many rounds creeps: others do better with the time.
const ROUNDS_MAX: usize = 8;

/// From in place, and from what gains most for its bytes.
pub(super) fn from_several(
    seen: &mut VisitedPoints<'_>,
    bounds: &LowerBounds,
    aim: &Objective,
    free: &[usize],
) {
    let start = seen.space.all_in_place();
    if !seen.simulate_unknown(std::slice::from_ref(&start))
        || !seen.simulate_unknown(&points_in_near_frames(seen, &start))
    {
        return;
    }
    descend_from(seen, start, free);
    let frame = seen.best_point().map_or(0, |best| best.frame);
    let ranked = greedy_points_by_gain(seen, (bounds, aim), free, frame);
    if seen.simulate_unknown(&ranked)
        && let Some(start) = best_of_points(seen, &ranked)
    {
        descend_from(seen, start, free);
    }
    from_the_best(seen, free);
}

/// From the best so far, in the frames near its own.
pub(super) fn from_the_best(seen: &mut VisitedPoints<'_>, free: &[usize]) {
    let Some(best) = seen.best_point().cloned() else { return };
    if seen.simulate_unknown(&points_in_near_frames(seen, &best))
        && let Some(best) = seen.best_point().cloned()
    {
        descend_from(seen, best, free);
    }
}

/// The same placements in other frames.
fn points_in_near_frames(seen: &VisitedPoints<'_>, point: &SearchPoint) -> Vec<SearchPoint> {
    let near = seen.space.frames_near(point.frame);
    near.into_iter().map(|frame| SearchPoint { frame, ..point.clone() }).collect()
}

/// For k = 1, 2, ...: the k classes that gain most for each byte, where they are best by themselves.
fn greedy_points_by_gain(
    seen: &VisitedPoints<'_>,
    (bounds, aim): (&LowerBounds, &Objective),
    free: &[usize],
    frame: usize,
) -> Vec<SearchPoint> {
    let options = |class: usize| 0..seen.space.options[class].len();
    let mut order: Vec<(f64, usize, usize)> = Vec::new();
    for &class in free {
        let waits = |option: &usize| bounds.weighted_cost(aim, class, *option);
        let Some(best) = options(class).min_by(|a, b| waits(a).total_cmp(&waits(b))) else {
            continue;
        };
        order.push((waits(&0) - waits(&best), class, best));
    }
    order.retain(|(gain, ..)| *gain > 0.0);
    let bytes = |class: usize| bounds.class_bytes(class).max(1.0);
    order.sort_by(|a, b| (b.0 / bytes(b.1)).total_cmp(&(a.0 / bytes(a.1))).then(a.1.cmp(&b.1)));
    let mut point = SearchPoint { frame, ..seen.space.all_in_place() };
    let mut points = Vec::new();
    for (_, class, option) in order {
        point.picks[class] = option as u8;
        points.push(point.clone());
    }
    points
}

fn descend_from(seen: &mut VisitedPoints<'_>, start: SearchPoint, free: &[usize]) {
    let mut at = start;
    for _ in 0..ROUNDS_MAX {
        let before = at.clone();
        for &class in free {
            let options = 0..seen.space.options[class].len();
            let all: Vec<SearchPoint> =
                options.map(|option| with_placement(&at, class, option)).collect();
            if !seen.simulate_unknown(&all) {
                return;
            }
            at = best_of_points(seen, &all).unwrap_or(at);
        }
        let all = points_in_near_frames(seen, &at);
        if !seen.simulate_unknown(&all) {
            return;
        }
        at = best_of_points(seen, &all).unwrap_or(at);
        if at == before {
            return;
        }
    }
}

/// The best of these, the first of equals; `None`: none of them can be.
fn best_of_points(seen: &VisitedPoints<'_>, points: &[SearchPoint]) -> Option<SearchPoint> {
    let values = points.iter().map(|point| (seen.value_at(point), point));
    let possible = values.filter(|(value, _)| value.is_finite());
    let best = possible.min_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    best.map(|(_, point)| point.clone())
}
