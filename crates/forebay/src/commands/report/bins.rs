//! Time in equal parts, and what is spread over them.

use forebay_model::Micros;
use serde_json::Value;

use super::page_columns::rounded_number;

/// A chart has no more parts: a screen has not many more columns.
const MOST: u64 = 600;

/// How a run is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeBins {
    /// Microseconds of one.
    pub(super) us: u64,
    pub(super) count: usize,
}

impl TimeBins {
    /// For a run that lasts so long.
    pub(super) fn for_span(span: Micros) -> Self {
        let us = span.0.div_ceil(MOST).max(1);
        Self { us, count: span.0.div_ceil(us).max(1) as usize }
    }

    /// In which one a moment is; what comes after the end is in the last.
    pub(super) fn bin_at(self, moment: Micros) -> usize {
        ((moment.0 / self.us) as usize).min(self.count - 1)
    }

    fn start_of_bin(self, bin: usize) -> f64 {
        bin as f64 * self.us as f64
    }
}

/// Amounts by part of time. Adding one takes the same time however long it lasts.
#[derive(Clone, Debug)]
pub(super) struct BinnedAmounts {
    bins: TimeBins,
    part: Vec<f64>,
    /// By how much the rate of whole parts changes at each.
    change: Vec<f64>,
}

impl BinnedAmounts {
    pub(super) fn new(bins: TimeBins) -> Self {
        let zeroes = vec![0.0; bins.count];
        Self { bins, part: zeroes.clone(), change: zeroes }
    }

    /// Something that went on evenly from `from` to `to`.
    pub(super) fn add_evenly(&mut self, from: Micros, to: Micros, amount: f64) {
        let (bins, first, last) = (self.bins, self.bins.bin_at(from), self.bins.bin_at(to));
        if first >= last {
            self.part[first] += amount;
            return;
        }
        let rate = amount / to.since(from).0 as f64;
        self.part[first] += rate * (bins.start_of_bin(first + 1) - from.0 as f64);
        // Whatever is beyond the last part is put into it.
        self.part[last] += rate * (to.0 as f64 - bins.start_of_bin(last));
        self.change[first + 1] += rate;
        self.change[last] -= rate;
    }

    fn amounts(&self) -> impl Iterator<Item = f64> {
        let mut rate = 0.0;
        self.part.iter().zip(&self.change).map(move |(part, change)| {
            rate += change;
            // What was added and taken away again leaves a rest of rounding.
            (part + rate * self.bins.us as f64).max(0.0)
        })
    }

    /// Amounts per second.
    pub(super) fn per_second(&self) -> Value {
        let seconds = self.bins.us as f64 / 1e6;
        self.amounts().map(|amount| rounded_number(amount / seconds)).collect()
    }

    /// Of amounts that are microseconds: how many went on at a time.
    pub(super) fn at_once(&self) -> Value {
        self.amounts().map(|amount| rounded_number(amount / self.bins.us as f64)).collect()
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, charts show bytes where and when there were none.
    use super::*;

    #[test]
    fn what_is_spread_adds_up_to_itself() {
        let bins = TimeBins::for_span(Micros(6_000));
        assert_eq!(bins, TimeBins { us: 10, count: 600 });
        let mut spread = BinnedAmounts::new(bins);
        for (from, to, amount) in
            [(0, 6_000, 70.0), (15, 38, 23.0), (7, 7, 1.0), (5_995, 9_000, 4.0)]
        {
            spread.add_evenly(Micros(from), Micros(to), amount);
        }
        let amounts: Vec<f64> = spread.amounts().collect();
        assert!((amounts.iter().sum::<f64>() - 98.0).abs() < 1e-6, "{amounts:?}");
        let even = 70.0 / 600.0;
        for (bin, own) in [(0, 1.0), (1, 5.0), (2, 10.0), (3, 8.0), (4, 0.0)] {
            assert!((amounts[bin] - even - own).abs() < 1e-6, "{bin}: {}", amounts[bin]);
        }
    }

    #[test]
    fn a_run_without_time_has_one_part() {
        let bins = TimeBins::for_span(Micros::ZERO);
        assert_eq!((bins.count, bins.bin_at(Micros(99))), (1, 0));
    }
}
