//! Annealing: random changes, of which worse ones are taken less and less often.

use super::visited_points::VisitedPoints;
use crate::search_space::{SearchPoint, SearchSpace};
use crate::seeded_rng::SeededRng;

/// Walks at a time, so that several threads have something to do.
const WALKS: usize = 4;
const STEPS: usize = 2000;
/// Changes that make it worse by this part are taken in one of e cases, in the beginning.
const HOT: f64 = 0.05;
/// And in the end.
const COLD: f64 = 0.0005;

/// Several walks from the best so far.
pub(super) fn from_the_best(seen: &mut VisitedPoints<'_>, free: &[usize]) {
    let Some(best) = seen.best_point().cloned() else { return };
    let mut dice: Vec<SeededRng> =
        (0..WALKS as u64).map(|walk| SeededRng::new(seen.wanted.seed ^ (walk << 56))).collect();
    let mut at = vec![best; WALKS];
    for step in 0..STEPS {
        let heat = HOT * (COLD / HOT).powf(step as f64 / STEPS as f64);
        let next: Vec<SearchPoint> = at
            .iter()
            .zip(&mut dice)
            .map(|(at, dice)| random_neighbour(seen.space, at, free, dice))
            .collect();
        if !seen.simulate_unknown(&next) {
            return;
        }
        for ((at, next), dice) in at.iter_mut().zip(next).zip(&mut dice) {
            let worse = seen.value_at(&next) / seen.value_at(at) - 1.0;
            if worse <= 0.0 || dice.next_fraction() < (-worse / heat).exp() {
                *at = next;
            }
        }
    }
}

/// Another placement of one class or of two, or another frame.
fn random_neighbour(
    space: &SearchSpace,
    at: &SearchPoint,
    free: &[usize],
    dice: &mut SeededRng,
) -> SearchPoint {
    let mut point = at.clone();
    if space.frames.len() > 1 && (free.is_empty() || dice.next_index(10) == 0) {
        point.frame = dice.next_index(space.frames.len());
        return point;
    }
    if free.is_empty() {
        return point;
    }
    for _ in 0..1 + dice.next_index(4) / 3 {
        let class = free[dice.next_index(free.len())];
        point.picks[class] = dice.next_index(space.options[class].len()) as u8;
    }
    point
}
