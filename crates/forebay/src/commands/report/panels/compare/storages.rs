//! Repeats of one thing beside repeats of another, as `forebay bench` compares storages.

use forebay_model::CommandExit;
use forebay_plan::compare::{MedianEstimate, RatioEstimate, median_with_interval, ratio_of_times};
use serde_json::{Value, json};

use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::{column, rounded_number};
use crate::commands::report::strings::StringTable;

/// Differences below this share do not matter, as in `forebay bench`.
const WITHIN: f64 = 0.02;
/// For intervals: the same runs, the same words.
const SEED: u64 = 1;

/// One group of repeats.
struct Group<'r> {
    name: &'r str,
    /// Seconds, by round; `None`: it failed.
    times: Vec<Option<f64>>,
}

pub(super) fn compare_groups(runs: &[IndexedRun], strings: &mut StringTable) -> Value {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for run in runs {
        let well = matches!(run.summary.exit, None | Some(CommandExit::Code(0)));
        let time = well.then(|| run.summary.wall_us.as_secs());
        match groups.iter_mut().find(|group| group.name == run.group) {
            Some(group) => group.times.push(time),
            None => groups.push(Group { name: &run.group, times: vec![time] }),
        }
    }
    let middles: Vec<Option<MedianEstimate>> = groups
        .iter()
        .map(|group| {
            median_with_interval(&group.times.iter().flatten().copied().collect::<Vec<_>>())
        })
        .collect();
    let others = groups.iter().enumerate();
    let ratios: Vec<Option<RatioEstimate>> = others
        .map(|(at, group)| {
            (at > 0).then(|| ratio_of_times(&group.times, &groups[0].times, SEED))?
        })
        .collect();
    let time = |of: fn(&MedianEstimate) -> f64| {
        column(middles.iter().map(|middle| middle.as_ref().map(|m| (of(m) * 1e6) as u64)))
    };
    let times = |of: fn(&RatioEstimate) -> f64| {
        column(ratios.iter().map(|ratio| ratio.as_ref().map(|ratio| rounded_number(of(ratio)))))
    };
    json!({
        "n": groups.len(),
        "label": column(groups.iter().map(|group| strings.intern_text(group.name))),
        "runs": column(groups.iter().map(|group| group.times.len())),
        "failed": column(groups.iter().map(|g| g.times.iter().filter(|t| t.is_none()).count())),
        "median_us": time(|middle| middle.median),
        "low_us": time(|middle| middle.span.low),
        "high_us": time(|middle| middle.span.high),
        "range": column(middles.iter().map(|m| u8::from(m.is_none_or(|m| m.span.range)))),
        "ratio": times(|ratio| ratio.ratio),
        "ratio_low": times(|ratio| ratio.span.low),
        "ratio_high": times(|ratio| ratio.span.high),
        "verdict": column(ratios.iter().map(|ratio| {
            ratio.map_or(-1, |ratio| strings.intern_text(ratio.verdict(WITHIN).name()))
        })),
    })
}
