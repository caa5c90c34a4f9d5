//! How far fitted prices are known: rounds are drawn again, and prices fitted to each draw.

use super::{Batch, ProfileParameter, fitted_prices};
use crate::compare::{RUNS_FOR_INTERVAL, UncertaintyInterval, median_with_interval};
use crate::seeded_rng::SeededRng;
use std::collections::BTreeMap;

/// The ends of an interval at 95 % are the 5th and the 196th.
const DRAWS: usize = 200;
const OUTSIDE: usize = 5;

/// For each number the percentiles of its draws (bootstrap). Where a batch that it is in has fewer
/// than six rounds, its draws have no more than the range of what was seen, and it is called so.
pub(super) fn price_spans(
    batches: &[Batch],
    priced: &BTreeMap<ProfileParameter, f64>,
    seed: u64,
) -> BTreeMap<ProfileParameter, UncertaintyInterval> {
    let mut dice = SeededRng::new(seed);
    let mut all: BTreeMap<ProfileParameter, Vec<f64>> =
        priced.keys().map(|number| (*number, Vec::new())).collect();
    for _ in 0..DRAWS {
        let medians: Vec<Option<f64>> =
            batches.iter().map(|batch| resampled_median(&batch.seconds, &mut dice)).collect();
        for (number, value) in fitted_prices::solve_prices(batches, &medians) {
            all.entry(number).or_default().push(value);
        }
    }
    let few = batches.iter().filter(|batch| batch.threads == 1);
    let few = few.map(|batch| batch.seconds.len()).filter(|rounds| *rounds > 0);
    let range = few.min().unwrap_or(0) < RUNS_FOR_INTERVAL;
    let mut spans = BTreeMap::new();
    for (number, mut values) in all {
        values.sort_by(f64::total_cmp);
        let Some(last) = values.len().checked_sub(1) else { continue };
        let out = if range { 0 } else { OUTSIDE.min(last / 2) };
        let (mut low, mut high) = (values[out], values[last - out]);
        if matches!(number, ProfileParameter::Stream(_)) {
            (low, high) = (1.0 / high, 1.0 / low);
        }
        spans.insert(number, UncertaintyInterval { low, high, range });
    }
    spans
}

fn resampled_median(seconds: &[f64], dice: &mut SeededRng) -> Option<f64> {
    let draw: Vec<f64> = seconds.iter().map(|_| seconds[dice.next_index(seconds.len())]).collect();
    median_with_interval(&draw).map(|middle| middle.median).filter(|median| *median > 0.0)
}
