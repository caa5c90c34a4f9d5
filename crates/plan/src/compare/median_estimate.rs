//! The median, how far it is known, and which runs stand out.

use super::{RUNS_FOR_INTERVAL, UncertaintyInterval};

/// The middle of what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianEstimate {
    /// Half of the values are below it.
    pub median: f64,
    /// Where the median of all runs that could be is: between two of the values, at 95 % or more.
    pub span: UncertaintyInterval,
}

/// The median with its distribution-free interval, whose ends are the k-th least and the k-th
/// greatest value: as many as a fair coin allows (Conover, Practical Nonparametric Statistics, 3.2).
/// `None`: of nothing.
pub fn median_with_interval(values: &[f64]) -> Option<MedianEstimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = median_of_sorted(&sorted)?;
    let mut span = UncertaintyInterval::from_extremes(&sorted)?;
    if sorted.len() >= RUNS_FOR_INTERVAL {
        let left_out = interval_cutoff(sorted.len());
        let (low, high) = (sorted[left_out], sorted[sorted.len() - 1 - left_out]);
        span = UncertaintyInterval { low, high, range: false };
    }
    Some(MedianEstimate { median, span })
}

pub(super) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// How many values at each end lie outside: the chance that so few of `n` fall on one side of the
/// median is at most 2.5 %.
fn interval_cutoff(n: usize) -> usize {
    let (mut term, mut below, mut out) = (0.5_f64.powi(n as i32), 0.0, 0);
    loop {
        below += term;
        if below > 0.025 {
            return out.max(1) - 1;
        }
        term *= (n - out) as f64 / (out + 1) as f64;
        out += 1;
    }
}

/// Which values stand far from the others: a modified z-score above 3.5 (Iglewicz and Hoaglin, How
/// to Detect and Handle Outliers, 1993). They are marked, not removed.
pub fn flag_outliers(values: &[f64]) -> Vec<bool> {
    const SCORE_MAX: f64 = 3.5;
    const NORMAL: f64 = 0.6745;
    // Runs that agree to the clock's resolution make no outlier of one that is a little off.
    const LEAST_SHARE: f64 = 0.005;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(median) = median_of_sorted(&sorted) else { return Vec::new() };
    let mut apart: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    apart.sort_by(f64::total_cmp);
    let usual = median_of_sorted(&apart).unwrap_or_default().max(median.abs() * LEAST_SHARE);
    values.iter().map(|value| NORMAL * (value - median).abs() > SCORE_MAX * usual).collect()
}
