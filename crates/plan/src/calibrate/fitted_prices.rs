//! Prices, none of them negative, whose sums come nearest to what one thread took.

use super::{Batch, ProfileParameter};
use forebay_model::{AccessPattern, Op};
use std::collections::BTreeMap;

/// Each step of the search mends one number as well as can be; with a few dozen of them that hardly
/// depend on each other it is over long before.
const STEPS_MAX: usize = 20_000;

/// What a batch asks of one number, and how often.
fn batch_terms(batch: &Batch) -> Vec<(ProfileParameter, f64)> {
    let streams = [(Op::Read, batch.read), (Op::Write, batch.written)];
    let bytes = streams.into_iter().filter(|(_, bytes)| bytes.get() > 0);
    let bytes = bytes.map(|(op, bytes)| (ProfileParameter::Stream(op), bytes.get() as f64));
    let ops = batch.ops.iter().map(|(key, count)| {
        let pattern = key.pattern().unwrap_or(AccessPattern::Sequential);
        (ProfileParameter::Price(key.op(), pattern), *count)
    });
    bytes.chain(ops).collect()
}

/// The numbers that batches of one thread tell, of these seconds for each: least squares of the
/// relative differences, so that what takes microseconds counts as much as what takes seconds.
pub(super) fn solve_prices(
    batches: &[Batch],
    seconds: &[Option<f64>],
) -> BTreeMap<ProfileParameter, f64> {
    let mut rows: Vec<BTreeMap<ProfileParameter, f64>> = Vec::new();
    for (batch, seconds) in batches.iter().zip(seconds) {
        let Some(seconds) = seconds.filter(|seconds| batch.threads == 1 && *seconds > 0.0) else {
            continue;
        };
        let mut asks = BTreeMap::new();
        for (number, amount) in batch_terms(batch) {
            *asks.entry(number).or_insert(0.0) += amount / seconds;
        }
        rows.push(asks);
    }
    let mut found: BTreeMap<ProfileParameter, f64> =
        rows.iter().flat_map(|row| row.keys().map(|number| (*number, 0.0))).collect();
    let numbers: Vec<ProfileParameter> = found.keys().copied().collect();
    // For each row, how much of it no number explains so far.
    let mut left = vec![1.0; rows.len()];
    for _ in 0..STEPS_MAX {
        let mut moved = 0.0_f64;
        for number in &numbers {
            let asks =
                rows.iter().enumerate().filter_map(|(at, row)| Some((at, *row.get(number)?)));
            let (mut gain, mut norm) = (0.0, 0.0);
            for (at, ask) in asks.clone() {
                gain += ask * left[at];
                norm += ask * ask;
            }
            let value = found.get_mut(number).expect("it is one of them");
            let better = (*value + gain / norm).max(0.0);
            let step = better - *value;
            *value = better;
            for (at, ask) in asks {
                left[at] -= ask * step;
                moved = moved.max((ask * step).abs());
            }
        }
        if moved < 1e-9 {
            break;
        }
    }
    found
}
