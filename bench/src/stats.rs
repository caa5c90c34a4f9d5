//! Statistics of a comparison: medians, distribution-free bounds, outliers, drift.
//!
//! No normal distribution is assumed: storage times have long tails. No run is ever dropped.

/// Fewest runs for which a 95 % statement about a median is made; below it the range is printed.
pub const FEWEST_RUNS: usize = 6;

/// How sure a bound is.
pub const CONFIDENCE: f64 = 0.95;

/// On which side of the median a bound lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundSide {
    /// The median is at least this.
    Lower,
    /// The median is at most this.
    Upper,
}

/// What can be said about the median of a set of runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianBound {
    /// The middle run.
    pub median: f64,
    /// With enough runs the one-sided 95 % bound; else the worst run on that side.
    pub bound: f64,
    /// False when `bound` is only the end of the range.
    pub is_bound: bool,
    /// Number of runs.
    pub runs: usize,
}

/// The values in ascending order.
pub fn sort_ascending(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The median; NaN without values.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile `q` by linear interpolation between neighbours (type 7 of Hyndman and Fan).
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let values = sort_ascending(values);
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let at = q * last as f64;
    let below = at.floor() as usize;
    let above = at.ceil() as usize;
    values[below] + (values[above] - values[below]) * (at - below as f64)
}

/// Probability that a fair coin thrown `n` times shows at most `k` heads.
pub fn binomial_at_most(n: usize, k: usize) -> f64 {
    let mut term = 0.5_f64.powi(n as i32);
    let mut sum = 0.0;
    for i in 0..=k.min(n) {
        sum += term;
        term = term * (n - i) as f64 / (i + 1) as f64;
    }
    sum.min(1.0)
}

/// Rank (from 1) of the order statistic that bounds the median from below with `confidence`;
/// none when even the smallest of `n` runs does not.
pub fn rank_below_median(n: usize, confidence: f64) -> Option<usize> {
    let allowed = 1.0 - confidence + 1e-12;
    (1..=n / 2 + 1).take_while(|rank| binomial_at_most(n, rank - 1) <= allowed).last()
}

/// The median and its one-sided bound on `side`.
pub fn bound_median(values: &[f64], side: BoundSide) -> MedianBound {
    let ordered = sort_ascending(values);
    let runs = ordered.len();
    let rank = (runs >= FEWEST_RUNS).then(|| rank_below_median(runs, CONFIDENCE)).flatten();
    let from_end = rank.unwrap_or(1) - 1;
    let bound = match side {
        BoundSide::Lower => ordered.get(from_end),
        BoundSide::Upper => runs.checked_sub(1 + from_end).and_then(|at| ordered.get(at)),
    };
    let bound = bound.copied().unwrap_or(f64::NAN);
    MedianBound { median: median(values), bound, is_bound: rank.is_some(), runs }
}

/// Indices of values far from the others: more than 3.5 scaled median absolute deviations
/// (Iglewicz and Hoaglin). They are marked, never removed. None with fewer than six values.
pub fn find_outliers(values: &[f64]) -> Vec<usize> {
    let middle = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let scale = 1.4826 * median(&deviations);
    if values.len() < FEWEST_RUNS || scale <= 0.0 {
        return Vec::new();
    }
    (0..values.len()).filter(|at| deviations[*at] / scale > 3.5).collect()
}

/// Mann and Kendall's test for a trend over time: the two-sided p-value (normal approximation
/// with continuity correction, no ties assumed). One without enough runs.
pub fn drift_p_value(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    if values.len() < FEWEST_RUNS {
        return 1.0;
    }
    let mut s = 0.0_f64;
    for (at, early) in values.iter().enumerate() {
        for late in &values[at + 1..] {
            s += (late - early).partial_cmp(&0.0).map_or(0.0, |order| order as i32 as f64);
        }
    }
    let spread = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let z = (s.abs() - 1.0).max(0.0) / spread;
    2.0 * normal_upper_tail(z)
}

/// Upper tail of the normal distribution (Abramowitz and Stegun 26.2.17, error below 1e-7).
fn normal_upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let poly = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    density * poly
}

#[cfg(test)]
mod tests;
