//! Whether times rise or fall over the rounds: a warming cache, a filling disk, spent credits.

/// A trend that chance would hardly make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Later runs take longer.
    pub rising: bool,
    /// How often chance alone orders runs so, or more so, in either direction.
    pub p: f64,
}

/// More orders are not walked one by one.
const WALKED_MAX: usize = 8;

/// The test of Mann (1945) and Kendall: how many pairs rise, less how many fall; from all orders of
/// the values for up to eight of them, from the normal curve for more. `None`: at 5 % nothing.
pub fn detect_trend(values: &[f64]) -> Option<Trend> {
    const LEVEL: f64 = 0.05;
    let score = mann_kendall_score(values);
    let p = if values.len() <= WALKED_MAX {
        let (mut as_far, mut all) = (0_u32, 0_u32);
        visit_permutations(&mut values.to_vec(), 0, &mut |order| {
            all += 1;
            as_far += u32::from(self::mann_kendall_score(order).abs() >= score.abs());
        });
        f64::from(as_far) / f64::from(all)
    } else {
        let n = values.len() as f64;
        let spread = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
        // A step is two: half of it is taken off, since the curve has none.
        2.0 * normal_tail(((score.abs() - 1) as f64).max(0.0) / spread)
    };
    (p < LEVEL).then_some(Trend { rising: score > 0, p })
}

fn mann_kendall_score(values: &[f64]) -> i64 {
    let pairs = values.iter().enumerate().flat_map(|(at, one)| {
        values[at + 1..].iter().map(move |later| later.total_cmp(one) as i64)
    });
    pairs.sum()
}

fn visit_permutations(values: &mut Vec<f64>, fixed: usize, look: &mut impl FnMut(&[f64])) {
    if fixed == values.len() {
        return look(values);
    }
    for next in fixed..values.len() {
        values.swap(fixed, next);
        visit_permutations(values, fixed + 1, look);
        values.swap(fixed, next);
    }
}

/// The part of a normal curve above `z`, from 0 on, to 1e-7 (Abramowitz and Stegun, 26.2.17).
fn normal_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let sum = series.iter().fold(0.0, |sum, next| (sum + next) * t);
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * sum
}
