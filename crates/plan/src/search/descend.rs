//! Descents: one class after the other takes the placement that is best with all others as they
//! are, until none moves.

use super::seen::Seen;
use super::with;
use crate::bound::{Aim, Bounds};
use crate::space::Point;

/// A descent that still moves after so many rounds creeps: others do better with the time.
const ROUNDS_MAX: usize = 8;

/// From in place, and from what gains most for its bytes.
pub(super) fn from_several(seen: &mut Seen<'_>, bounds: &Bounds, aim: &Aim, free: &[usize]) {
    let start = seen.space.as_it_is();
    if !seen.look(std::slice::from_ref(&start)) || !seen.look(&framed(seen, &start)) {
        return;
    }
    descend(seen, start, free);
    let frame = seen.best().map_or(0, |best| best.frame);
    let ranked = ranked(seen, (bounds, aim), free, frame);
    if seen.look(&ranked)
        && let Some(start) = least(seen, &ranked)
    {
        descend(seen, start, free);
    }
    from_the_best(seen, free);
}

/// From the best so far, in the frames near its own.
pub(super) fn from_the_best(seen: &mut Seen<'_>, free: &[usize]) {
    let Some(best) = seen.best().cloned() else { return };
    if seen.look(&framed(seen, &best))
        && let Some(best) = seen.best().cloned()
    {
        descend(seen, best, free);
    }
}

/// The same placements in other frames.
fn framed(seen: &Seen<'_>, point: &Point) -> Vec<Point> {
    let near = seen.space.frames_near(point.frame);
    near.into_iter().map(|frame| Point { frame, ..point.clone() }).collect()
}

/// For k = 1, 2, ...: the k classes that gain most for each byte, where they are best by themselves.
fn ranked(
    seen: &Seen<'_>,
    (bounds, aim): (&Bounds, &Aim),
    free: &[usize],
    frame: usize,
) -> Vec<Point> {
    let options = |class: usize| 0..seen.space.options[class].len();
    let mut order: Vec<(f64, usize, usize)> = Vec::new();
    for &class in free {
        let waits = |option: &usize| bounds.worth(aim, class, *option);
        let Some(best) = options(class).min_by(|a, b| waits(a).total_cmp(&waits(b))) else {
            continue;
        };
        order.push((waits(&0) - waits(&best), class, best));
    }
    order.retain(|(gain, ..)| *gain > 0.0);
    let bytes = |class: usize| bounds.bytes(class).max(1.0);
    order.sort_by(|a, b| (b.0 / bytes(b.1)).total_cmp(&(a.0 / bytes(a.1))).then(a.1.cmp(&b.1)));
    let mut point = Point { frame, ..seen.space.as_it_is() };
    let mut points = Vec::new();
    for (_, class, option) in order {
        point.picks[class] = option as u8;
        points.push(point.clone());
    }
    points
}

fn descend(seen: &mut Seen<'_>, start: Point, free: &[usize]) {
    let mut at = start;
    for _ in 0..ROUNDS_MAX {
        let before = at.clone();
        for &class in free {
            let options = 0..seen.space.options[class].len();
            let all: Vec<Point> = options.map(|option| with(&at, class, option)).collect();
            if !seen.look(&all) {
                return;
            }
            at = least(seen, &all).unwrap_or(at);
        }
        let all = framed(seen, &at);
        if !seen.look(&all) {
            return;
        }
        at = least(seen, &all).unwrap_or(at);
        if at == before {
            return;
        }
    }
}

/// The best of these, the first of equals; `None`: none of them can be.
fn least(seen: &Seen<'_>, points: &[Point]) -> Option<Point> {
    let values = points.iter().map(|point| (seen.value(point), point));
    let possible = values.filter(|(value, _)| value.is_finite());
    let best = possible.min_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    best.map(|(_, point)| point.clone())
}
