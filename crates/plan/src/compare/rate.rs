//! How often runs fail.

/// Failures among attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailureRate {
    /// The share that failed.
    pub share: f64,
    /// The share of all attempts that could be is between these, at 95 %.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The share with its interval, which is never empty, even where nothing failed (Wilson, 1927).
/// `None`: nothing was tried.
pub fn failure_rate(failed: u64, tried: u64) -> Option<FailureRate> {
    const Z: f64 = 1.959_964;
    if tried == 0 {
        return None;
    }
    let (n, share) = (tried as f64, failed as f64 / tried as f64);
    let (scale, middle) = (1.0 + Z * Z / n, share + Z * Z / (2.0 * n));
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let [low, high] = [middle - half, middle + half].map(|end| (end / scale).clamp(0.0, 1.0));
    // What rounding leaves of nothing.
    Some(FailureRate { share, low: if failed == 0 { 0.0 } else { low }, high })
}
