//! What repeated runs on several storages say: medians, ratios to the first, verdicts, trends.
//!
//! Runs come in rounds: in each round every storage is used once, in an order drawn by lot, so what
//! drifts on the machine meets all of them. A ratio is taken within a round, for the same reason.
//! Outliers are marked and stay in. With fewer than six runs no interval at 95 % exists that assumes
//! nothing of how times scatter; there the range is told, and called so. What it is not: it runs
//! nothing, and "no difference was found" is never taken for "equal".

mod median_estimate;
mod power;
mod rate;
mod ratio;
mod trend;

pub use median_estimate::{MedianEstimate, flag_outliers, median_with_interval};
pub use power::detectable_difference;
pub use rate::{FailureRate, failure_rate};
pub use ratio::{ComparisonVerdict, RatioEstimate, ratio_of_times};
pub use trend::{Trend, detect_trend};

use crate::seeded_rng::SeededRng;

/// Fewer values have a range, and no interval.
pub const RUNS_FOR_INTERVAL: usize = 6;

/// Between which values something is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UncertaintyInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// From the least to the greatest that was seen, not an interval at 95 %.
    pub range: bool,
}

impl UncertaintyInterval {
    /// From the least to the greatest; `None`: of nothing.
    fn from_extremes(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        Some(Self { low, high, range: true })
    }
}

/// In which order a round uses so many storages: the same for the same seed and round, so that a
/// comparison that was cut short goes on as it would have.
pub fn round_order(count: usize, round: u32, seed: u64) -> Vec<usize> {
    let mut dice = SeededRng::new(seed ^ u64::from(round).wrapping_mul(0xA076_1D64_78BD_642F));
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, dice.next_index(last + 1));
    }
    order
}

#[cfg(test)]
mod tests;
