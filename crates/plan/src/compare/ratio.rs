//! How many times as long as on the first storage, and what may be said of it.

use super::{RUNS_FOR_INTERVAL, UncertaintyInterval};
use crate::seeded_rng::SeededRng;

/// One storage beside another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioEstimate {
    /// The sum of its times over the sum of the other's, of the rounds that have both.
    pub ratio: f64,
    /// Where the ratio of all runs that could be is.
    pub span: UncertaintyInterval,
    /// Rounds that have both.
    pub rounds: usize,
}

/// What a ratio comes to, if differences below a bound do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonVerdict {
    /// Less time, whatever in its span is true.
    Faster,
    /// More time, whatever in its span is true.
    Slower,
    /// Its whole span is within the bound: proven to be as good as equal.
    Equivalent,
    /// More runs would tell.
    Undecided,
}

impl ComparisonVerdict {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
        }
    }
}

/// Two rounds agree by chance in every second case.
const ROUNDS_FOR_VERDICT: usize = 3;

/// Compares times round by round; a round without one of them says nothing. With fewer than six
/// rounds the span is the range of the rounds' ratios; with more it is the bootstrap's, by
/// percentiles of rounds drawn again (Efron, 1979). `None`: no round has both.
pub fn ratio_of_times(
    other: &[Option<f64>],
    base: &[Option<f64>],
    seed: u64,
) -> Option<RatioEstimate> {
    let pairs: Vec<(f64, f64)> =
        other.iter().zip(base).filter_map(|(other, base)| (*other).zip(*base)).collect();
    let rounds = pairs.len();
    let each: Vec<f64> = pairs.iter().map(|(other, base)| other / base).collect();
    let span = match rounds {
        0 => return None,
        few if few < RUNS_FOR_INTERVAL => UncertaintyInterval::from_extremes(&each)?,
        _ => bootstrap_span(&pairs, seed),
    };
    Some(RatioEstimate { ratio: ratio_of_sums(pairs.iter()), span, rounds })
}

fn ratio_of_sums<'a>(pairs: impl Iterator<Item = &'a (f64, f64)>) -> f64 {
    let (other, base) = pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    other / base
}

fn bootstrap_span(pairs: &[(f64, f64)], seed: u64) -> UncertaintyInterval {
    const DRAWS: usize = 4000;
    let mut dice = SeededRng::new(seed);
    let mut draw = || {
        let drawn: Vec<usize> = pairs.iter().map(|_| dice.next_index(pairs.len())).collect();
        ratio_of_sums(drawn.iter().map(|at| &pairs[*at]))
    };
    let mut ratios: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    ratios.sort_by(f64::total_cmp);
    UncertaintyInterval {
        low: ratios[DRAWS / 40],
        high: ratios[DRAWS - 1 - DRAWS / 40],
        range: false,
    }
}

impl RatioEstimate {
    /// What may be said, where differences below `within` (0.02: 2 %) do not matter.
    pub fn verdict(&self, within: f64) -> ComparisonVerdict {
        let UncertaintyInterval { low, high, .. } = self.span;
        if self.rounds < ROUNDS_FOR_VERDICT {
            // It says what happened, and not whether it would again.
            ComparisonVerdict::Undecided
        } else if low >= 1.0 - within && high <= 1.0 + within {
            ComparisonVerdict::Equivalent
        } else if high < 1.0 {
            ComparisonVerdict::Faster
        } else if low > 1.0 {
            ComparisonVerdict::Slower
        } else {
            ComparisonVerdict::Undecided
        }
    }
}
