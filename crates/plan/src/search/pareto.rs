//! Of all that was looked at, what nothing else beats in both time and dollars.

use super::visited_points::Score;
use crate::search_space::SearchPoint;
use std::collections::BTreeMap;

/// The fastest first, then each that costs less.
pub(super) fn pareto_front(
    known: &BTreeMap<SearchPoint, Result<Score, String>>,
) -> Vec<(SearchPoint, Score)> {
    let possible = known.iter().filter_map(|(point, score)| {
        let score = *score.as_ref().ok()?;
        Some((point, score, score.per_sample?.get()))
    });
    let mut all: Vec<_> = possible.collect();
    all.sort_by(|a, b| {
        a.1.makespan
            .get()
            .total_cmp(&b.1.makespan.get())
            .then(a.2.total_cmp(&b.2))
            .then(a.0.cmp(b.0))
    });
    let mut front: Vec<(SearchPoint, Score)> = Vec::new();
    let mut least = f64::INFINITY;
    for (point, score, usd) in all {
        if usd < least {
            least = usd;
            front.push((point.clone(), score));
        }
    }
    front
}
