//! How small a difference so many runs can show.

/// The smallest difference, as a share, that `runs` on each of two storages show in four cases of
/// five (80 % power at the 5 % level) where times scatter by `cv`, the deviation over the mean.
/// `None`: fewer than two runs show nothing.
pub fn detectable_difference(cv: f64, runs: usize) -> Option<f64> {
    /// Of the normal curve: 97.5 % and 80 % lie below.
    const BELOW: [f64; 2] = [1.959_964, 0.841_621];
    let freedom = 2.0 * runs.checked_sub(1).filter(|more| *more > 0)? as f64;
    let sum: f64 = BELOW.iter().map(|z| students_t(*z, freedom)).sum();
    Some(sum * cv * (2.0 / runs as f64).sqrt())
}

/// Student's t from the normal curve's z, to 1 % from four degrees of freedom on (Abramowitz and
/// Stegun, 26.7.5).
fn students_t(z: f64, freedom: f64) -> f64 {
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    terms.iter().zip(1..).fold(z, |sum, (term, power)| sum + term / freedom.powi(power))
}
