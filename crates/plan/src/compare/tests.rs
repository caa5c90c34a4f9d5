//! If these fail, a storage is bought for a difference that is none, or not bought for one that is.
use super::*;

/// The 15 times of the article on Trinity's intermediate files, in the order of its runs; seconds.
const INSTANCE_STORE: [f64; 5] = [660.0, 660.0, 665.0, 673.0, 654.0];
const EBS_GP3: [f64; 5] = [652.0, 673.0, 669.0, 662.0, 658.0];
const EFS_ELASTIC: [f64; 5] = [1830.0, 1754.0, 1689.0, 1674.0, 1549.0];

fn all(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

fn beside(other: &[f64], base: &[f64]) -> RatioEstimate {
    ratio_of_times(&all(other), &all(base), 1).expect("there are rounds")
}

#[test]
fn trinity_on_three_storages() {
    let ebs = beside(&EBS_GP3, &INSTANCE_STORE);
    assert_eq!(ebs.verdict(0.02), ComparisonVerdict::Equivalent, "{ebs:?}");
    assert_eq!(
        ebs.verdict(0.01),
        ComparisonVerdict::Undecided,
        "it was not shown to be within 1 %"
    );
    let efs = beside(&EFS_ELASTIC, &INSTANCE_STORE);
    assert_eq!(efs.verdict(0.02), ComparisonVerdict::Slower);
    assert_eq!(format!("{:.2}", efs.ratio), "2.57");
    let tenths = |x: f64| x * 10.0;
    assert_eq!((tenths(efs.span.low).floor(), tenths(efs.span.high).ceil()), (23.0, 28.0));
    assert!(efs.span.range, "five runs have a range, and no interval");
    let falling = detect_trend(&EFS_ELASTIC).expect("each took less time than the one before");
    assert!(!falling.rising && (falling.p - 2.0 / 120.0).abs() < 1e-12, "{falling:?}");
    assert_eq!((detect_trend(&INSTANCE_STORE), detect_trend(&EBS_GP3)), (None, None));
    assert_eq!(flag_outliers(&INSTANCE_STORE), [false; 5]);
}

#[test]
fn a_median_has_an_interval_from_six_runs_on() {
    let few = median_with_interval(&[3.0, 1.0, 2.0]).expect("three");
    assert_eq!(
        (few.median, few.span),
        (2.0, UncertaintyInterval { low: 1.0, high: 3.0, range: true })
    );
    let six = median_with_interval(&[6.0, 1.0, 2.0, 5.0, 3.0, 4.0]).expect("six");
    assert_eq!(
        (six.median, six.span),
        (3.5, UncertaintyInterval { low: 1.0, high: 6.0, range: false })
    );
    // Of 20 the sixth from each end (the table of Conover).
    let many: Vec<f64> = (1..=20).map(f64::from).collect();
    let span = median_with_interval(&many).expect("twenty").span;
    assert_eq!((span.low, span.high), (6.0, 15.0));
    assert_eq!(median_with_interval(&[]), None);
}

#[test]
fn a_ratio_counts_rounds_that_have_both() {
    let (base, other) = ([Some(1.0), None, Some(2.0)], [Some(2.0), Some(9.0), Some(4.0)]);
    let found = ratio_of_times(&other, &base, 1).expect("two rounds");
    assert_eq!((found.ratio, found.rounds), (2.0, 2));
    assert_eq!(ratio_of_times(&[None], &[Some(1.0)], 1), None);
    let once = beside(&[3.0], &[1.0]);
    assert_eq!(once.verdict(0.02), ComparisonVerdict::Undecided, "it happened once");
    assert_eq!(
        beside(&[1.0], &[1.0]).verdict(0.02),
        ComparisonVerdict::Undecided,
        "and so did this"
    );
    assert_eq!(beside(&[3.0; 2], &[1.0; 2]).verdict(0.02), ComparisonVerdict::Undecided);
    assert_eq!(beside(&[3.0; 3], &[1.0; 3]).verdict(0.02), ComparisonVerdict::Slower);
}

#[test]
fn from_six_rounds_on_rounds_are_drawn_again() {
    let base = [10.0, 10.2, 9.9, 10.1, 10.0, 9.8, 10.1, 10.0];
    let slower = base.map(|time| time * 1.1);
    let found = beside(&slower, &base);
    assert!((found.ratio - 1.1).abs() < 1e-9 && !found.span.range, "{found:?}");
    assert_eq!(found.verdict(0.02), ComparisonVerdict::Slower);
    // The same seed draws the same, another one nearly so.
    let shuffled: Vec<f64> = base.iter().rev().map(|time| time * 1.001).collect();
    assert_eq!(beside(&shuffled, &base), beside(&shuffled, &base));
    assert_eq!(beside(&shuffled, &base).verdict(0.02), ComparisonVerdict::Equivalent);
    assert_eq!(beside(&shuffled, &base).verdict(0.0001), ComparisonVerdict::Undecided);
    assert_eq!(beside(&base, &slower).verdict(0.02), ComparisonVerdict::Faster);
}

#[test]
fn a_trend_over_many_runs_is_told_from_the_curve() {
    let rising: Vec<f64> = (0..12).map(|run| 100.0 + f64::from(run)).collect();
    assert!(detect_trend(&rising).is_some_and(|found| found.rising && found.p < 1e-4));
    // A full house of ties, and one that goes up and down.
    assert_eq!(detect_trend(&[5.0; 12]), None);
    let swings: Vec<f64> = (0..12).map(|run| f64::from(run % 2)).collect();
    assert_eq!(detect_trend(&swings), None);
    assert_eq!((detect_trend(&[]), detect_trend(&[1.0])), (None, None));
    // Three in a row are no trend: chance does that in one case of three.
    assert_eq!(detect_trend(&[1.0, 2.0, 3.0]), None);
}

#[test]
fn what_so_many_runs_can_show() {
    // At 1.1 % scatter (a local disk), 2 % and 6 % (EFS): from Student's t itself.
    for (cv, runs, percent) in
        [(0.011, 3, 3.3), (0.011, 5, 2.2), (0.011, 20, 1.0), (0.02, 10, 2.7), (0.06, 6, 11.0)]
    {
        let found = detectable_difference(cv, runs).expect("enough runs") * 100.0;
        assert!((found / percent - 1.0).abs() < 0.04, "{cv} {runs}: {found} for {percent}");
    }
    assert_eq!((detectable_difference(0.01, 1), detectable_difference(0.01, 0)), (None, None));
}

#[test]
fn failures_have_an_interval_even_if_there_are_none() {
    // 194 of 117,000 attempts of a study of SRA's access modes.
    let study = failure_rate(194, 117_000).expect("tried");
    assert!((study.low - 0.001_441).abs() < 1e-5 && (study.high - 0.001_908).abs() < 1e-5);
    let never = failure_rate(0, 5).expect("tried");
    assert_eq!((never.share, never.low), (0.0, 0.0));
    assert!((never.high - 0.434).abs() < 1e-3, "{never:?}");
    assert!(failure_rate(5, 5).is_some_and(|all| all.high == 1.0 && all.low > 0.5));
    assert_eq!(failure_rate(0, 0), None);
}

#[test]
fn one_far_run_is_marked() {
    assert_eq!(flag_outliers(&[10.0, 10.1, 9.9, 30.0, 10.0]), [false, false, false, true, false]);
    assert_eq!(
        flag_outliers(&[10.0, 10.0, 10.0, 10.1]),
        [false; 4],
        "they agree within one per cent"
    );
    assert_eq!(flag_outliers(&[]), [false; 0]);
}

#[test]
fn rounds_are_shuffled_the_same_way_again() {
    let orders: Vec<Vec<usize>> = (0..60).map(|round| round_order(3, round, 7)).collect();
    assert_eq!(orders, (0..60).map(|round| round_order(3, round, 7)).collect::<Vec<_>>());
    for first in 0..3 {
        let times = orders.iter().filter(|order| order[0] == first).count();
        assert!((10..=30).contains(&times), "storage {first} began {times} of 60 rounds");
    }
    assert!(orders.iter().all(|order| {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        sorted == [0, 1, 2]
    }));
    assert_eq!((round_order(0, 1, 1), round_order(1, 1, 1)), (vec![], vec![0]));
}
