//! Least squares for `seconds = price of its group x count + seconds for each byte x bytes`, with
//! no negative number.

/// What was measured together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observation {
    pub(super) count: f64,
    pub(super) bytes: f64,
    pub(super) secs: f64,
}

/// A price for each group, and what a byte costs in all of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FittedPrices {
    pub(super) prices: Vec<f64>,
    pub(super) secs_per_byte: f64,
}

/// Points weigh `1 / count`, for the spread of a sum grows with what is summed. For a given cost of
/// bytes the best prices are plain quotients, so only that one number is searched; the error is
/// convex in it.
pub(super) fn fit_least_squares(groups: &[Vec<Observation>]) -> FittedPrices {
    let total = |of: fn(&Observation) -> f64| groups.iter().flatten().map(of).sum::<f64>();
    let (secs, bytes) = (total(|point| point.secs), total(|point| point.bytes));
    let mut secs_per_byte = 0.0;
    if bytes > 0.0 && secs > 0.0 {
        // More than all of the time can't be due to bytes.
        let (mut low, mut high) = (0.0, secs / bytes);
        for _ in 0..100 {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if squared_error(groups, left) <= squared_error(groups, right) {
                high = right
            } else {
                low = left
            }
        }
        secs_per_byte = (low + high) / 2.0;
        // Where bytes say nothing, the error is flat and the search ends anywhere.
        if squared_error(groups, 0.0) <= squared_error(groups, secs_per_byte) * (1.0 + 1e-9) {
            secs_per_byte = 0.0;
        }
    }
    let prices = groups.iter().map(|group| group_price(group, secs_per_byte)).collect();
    FittedPrices { prices, secs_per_byte }
}

fn group_price(group: &[Observation], secs_per_byte: f64) -> f64 {
    let count: f64 = group.iter().map(|point| point.count).sum();
    let left: f64 = group.iter().map(|point| point.secs - secs_per_byte * point.bytes).sum();
    if count > 0.0 { (left / count).max(0.0) } else { 0.0 }
}

fn squared_error(groups: &[Vec<Observation>], secs_per_byte: f64) -> f64 {
    let of_group = |group: &Vec<Observation>| {
        let price = group_price(group, secs_per_byte);
        let miss = |point: &Observation| {
            let miss = point.secs - price * point.count - secs_per_byte * point.bytes;
            miss * miss / point.count
        };
        group.iter().map(miss).sum::<f64>()
    };
    groups.iter().map(of_group).sum()
}
