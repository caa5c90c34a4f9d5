//! Lost if these fail: every verdict in the tables. Expected values are from printed tables
//! (binomial, order statistics, normal) or small enough to count by hand.

use super::*;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-6, "{a} is not {b}");
}

#[test]
fn medians_and_quantiles() {
    close(median(&[3.0, 1.0, 2.0]), 2.0);
    close(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    close(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), 2.0);
    close(quantile(&[10.0, 20.0], 0.99), 19.9);
    assert!(median(&[]).is_nan());
}

#[test]
fn binomial_tails() {
    close(binomial_at_most(7, 0), 1.0 / 128.0);
    close(binomial_at_most(8, 1), 9.0 / 256.0);
    close(binomial_at_most(10, 5), 0.623_046_875);
    close(binomial_at_most(15, 3), 0.017_578_125);
    close(binomial_at_most(4, 9), 1.0);
}

#[test]
fn ranks_of_the_one_sided_sign_bound() {
    // Conover's table: largest rank r with P(Bin(n, 1/2) <= r - 1) <= 0.05.
    let table = [(4, None), (5, Some(1)), (7, Some(1)), (8, Some(2)), (11, Some(3)), (13, Some(4))];
    for (n, rank) in table {
        assert_eq!(rank_below_median(n, 0.95), rank, "n = {n}");
    }
    assert_eq!(rank_below_median(15, 0.95), Some(4));
    assert_eq!(rank_below_median(20, 0.95), Some(6));
}

#[test]
fn a_bound_needs_six_runs() {
    let five = bound_median(&[5.0, 1.0, 4.0, 2.0, 3.0], BoundSide::Lower);
    assert_eq!((five.median, five.bound, five.is_bound), (3.0, 1.0, false));
    let fifteen: Vec<f64> = (1..=15).map(f64::from).collect();
    let low = bound_median(&fifteen, BoundSide::Lower);
    let high = bound_median(&fifteen, BoundSide::Upper);
    assert_eq!((low.bound, low.median, high.bound, low.is_bound), (4.0, 8.0, 12.0, true));
    assert!(bound_median(&[], BoundSide::Upper).bound.is_nan());
}

#[test]
fn the_bound_covers_the_median_as_often_as_it_says() {
    // 15 uniform runs, 4,000 times: the true median 0.5 must lie above the lower bound in at
    // least 95 % of them (exactly 98.2 % for rank 4 of 15).
    let mut random = crate::shuffle::SeededRng::new(3, "coverage");
    let covered = (0..4_000)
        .filter(|_| {
            let runs: Vec<f64> =
                (0..15).map(|_| random.next_below(1 << 52) as f64 / (1_u64 << 52) as f64).collect();
            bound_median(&runs, BoundSide::Lower).bound <= 0.5
        })
        .count();
    assert!((3_890..3_970).contains(&covered), "{covered}");
}

#[test]
fn outliers_are_found_and_counted_once() {
    assert_eq!(find_outliers(&[10.0, 10.1, 9.9, 10.05, 30.0, 9.95]), vec![4]);
    assert!(find_outliers(&[1.0, 1.0, 1.0, 1.0, 1.0, 2.0]).is_empty(), "no scale, no verdict");
    assert!(find_outliers(&[1.0, 1.1, 9.0]).is_empty(), "too few to tell");
    assert!(find_outliers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).is_empty());
}

#[test]
fn drift_is_seen_and_noise_is_not() {
    let rising: Vec<f64> = (0..10).map(f64::from).collect();
    // S = 45, variance 125, z = 44 / sqrt(125) = 3.9355, p = 8.3e-5.
    assert!((drift_p_value(&rising) - 8.3e-5).abs() < 1e-6, "{}", drift_p_value(&rising));
    assert!(drift_p_value(&[3.0, 1.0, 4.0, 1.5, 5.0, 2.0, 3.5]) > 0.2);
    close(drift_p_value(&[1.0, 2.0, 3.0]), 1.0);
}

#[test]
fn normal_tail() {
    close(normal_upper_tail(0.0), 0.5);
    close(normal_upper_tail(1.959_963_985), 0.025);
}
