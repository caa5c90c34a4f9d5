//! What is known of each storage: a row of the comparison.

use forebay_plan::compare::{
    FailureRate, MedianEstimate, RatioEstimate, Trend, detect_trend, detectable_difference,
    failure_rate, flag_outliers, median_with_interval, ratio_of_times,
};
use forebay_plan::cost::Cost;

use super::Args;
use super::compared_storages::ComparedStorage;
use super::outside_writes::OutsideWrites;
use super::recorded::RecordedRun;
use super::result_log::{BenchRun, times_by_round};
use super::run_prices::BenchPrices;
use super::scale::Scale;
use super::throughput::{Throughput, largest_useful, throughput_by_size};

/// What is known of one storage.
pub(super) struct StorageRow<'p> {
    pub(super) place: &'p ComparedStorage,
    /// Runs that succeeded.
    pub(super) good: usize,
    pub(super) failed: usize,
    /// Of these, with no room left.
    pub(super) filled_up: usize,
    /// Of their seconds.
    pub(super) middle: Option<MedianEstimate>,
    pub(super) failures: Option<FailureRate>,
    /// Beside the first; `None` for the first itself.
    pub(super) ratio: Option<RatioEstimate>,
    pub(super) trend: Option<Trend>,
    /// Rounds whose time stands far from the others.
    pub(super) outliers: Vec<usize>,
    /// The smallest difference that so many runs show, as a share.
    pub(super) detectable: Option<f64>,
    pub(super) did: StorageActivity,
    /// What it gets done; `None` if it has no size.
    pub(super) done: Option<Throughput>,
    /// Of a run, in the middle.
    pub(super) usd: Option<f64>,
    pub(super) costs: Vec<Cost>,
    /// The most that a run wrote elsewhere, and whether it matters; `None`: nobody knows.
    pub(super) outside: Option<(OutsideWrites, bool)>,
}

/// What runs did to a storage, in the middle; `None`: nobody saw.
#[derive(Debug, Default)]
pub(super) struct StorageActivity {
    pub(super) names: Option<f64>,
    pub(super) data: Option<f64>,
    pub(super) read_bytes: Option<f64>,
    pub(super) written_bytes: Option<f64>,
    pub(super) waited_share: Option<f64>,
}

/// The one in the middle of them, if there are any.
pub(super) fn median_of(values: &[f64]) -> Option<f64> {
    median_with_interval(values).map(|middle| middle.median)
}

/// A row for each storage, in their order; the first is what the others are compared with.
pub(super) fn storage_rows<'p>(
    args: &Args,
    places: &'p [ComparedStorage],
    sheet: Option<&BenchPrices>,
    runs: &[BenchRun],
) -> Vec<StorageRow<'p>> {
    let base = times_by_round(runs, &places[0].name);
    let row = |(at, place)| build_row(args, place, (at > 0).then_some(&base[..]), sheet, runs);
    let mut rows: Vec<StorageRow> = places.iter().enumerate().map(row).collect();
    add_throughput(&mut rows);
    rows
}

/// Rows of one storage stand together, the smallest size first.
pub(super) fn group_by_storage<'r, 'p>(
    rows: &'r [StorageRow<'p>],
) -> impl Iterator<Item = &'r [StorageRow<'p>]> {
    rows.chunk_by(|one, other| one.place.storage_name() == other.place.storage_name())
}

/// Has each row say what its size gets done.
fn add_throughput(rows: &mut [StorageRow<'_>]) {
    for group in
        rows.chunk_by_mut(|one, other| one.place.storage_name() == other.place.storage_name())
    {
        let size =
            |row: &StorageRow<'_>| Some((row.place.scale?, row.middle.map(|middle| middle.median)));
        let sizes: Option<Vec<_>> = group.iter().map(size).collect();
        for (row, done) in
            group.iter_mut().zip(sizes.iter().flat_map(|sizes| throughput_by_size(sizes)))
        {
            row.done = done;
        }
    }
}

/// The size from which more at once get no more done; `None`: the largest one still does.
pub(super) fn saturation_size(group: &[StorageRow<'_>]) -> Option<Scale> {
    largest_useful(&group.iter().filter_map(|row| row.done).collect::<Vec<_>>())
}

/// What is known of a storage, beside the first one's seconds by round.
fn build_row<'p>(
    args: &Args,
    place: &'p ComparedStorage,
    base: Option<&[Option<f64>]>,
    sheet: Option<&BenchPrices>,
    runs: &[BenchRun],
) -> StorageRow<'p> {
    let by_round = times_by_round(runs, &place.name);
    let rounds = by_round.iter().enumerate().filter_map(|(at, time)| Some((at, (*time)?)));
    let (rounds, seconds): (Vec<usize>, Vec<f64>) = rounds.unzip();
    let own: Vec<&BenchRun> = runs.iter().filter(|run| run.on == place.name).collect();
    let failed = own.len() - seconds.len();
    let far = flag_outliers(&seconds);
    let costs = own.iter().filter_map(|run| sheet?.cost_of_run(place, run)).collect::<Vec<_>>();
    let seen: Vec<_> = own.iter().filter_map(|run| run.recorded.as_ref()).collect();
    let of = |what: fn(&RecordedRun) -> Option<f64>| {
        median_of(&seen.iter().filter_map(|run| what(run)).collect::<Vec<_>>())
    };
    let outside = seen.iter().filter_map(|run| Some((run.outside.clone()?, run.written_bytes)));
    StorageRow {
        place,
        good: seconds.len(),
        failed,
        filled_up: own.iter().filter(|run| run.filled_up()).count(),
        middle: median_with_interval(&seconds),
        failures: failure_rate(failed as u64, own.len() as u64),
        ratio: base.and_then(|base| ratio_of_times(&by_round, base, args.seed)),
        trend: detect_trend(&seconds),
        outliers: rounds.into_iter().zip(far).filter_map(|(at, far)| far.then_some(at)).collect(),
        detectable: coefficient_of_variation(&seconds)
            .and_then(|cv| detectable_difference(cv, seconds.len())),
        did: StorageActivity {
            names: of(|run| Some(run.names as f64)),
            data: of(|run| Some(run.data as f64)),
            read_bytes: of(|run| Some(run.read_bytes as f64)),
            written_bytes: of(|run| Some(run.written_bytes as f64)),
            waited_share: of(|run| run.waited_share),
        },
        done: None,
        usd: median_of(&costs.iter().map(|cost| cost.total.get()).collect::<Vec<_>>()),
        costs,
        outside: outside
            .max_by_key(|(outside, _)| outside.bytes)
            .map(|(outside, written)| (outside.clone(), outside.is_significant(written))),
    }
}

/// Deviation over mean.
fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt() / mean)
}
