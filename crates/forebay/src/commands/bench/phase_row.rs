//! What is known of each phase: how long it took on each storage.

use std::collections::BTreeMap;

use super::result_log::BenchRun;
use super::storage_row::median_of;

/// A phase, and for each storage the median of its seconds.
pub(super) struct PhaseRow {
    pub(super) name: String,
    pub(super) engine: String,
    pub(super) medians: Vec<Option<f64>>,
}

/// Of the runs that succeeded; the slowest first.
pub(super) fn phase_rows(names: &[&str], runs: &[BenchRun]) -> Vec<PhaseRow> {
    let mut all: BTreeMap<(&str, &str), Vec<Vec<f64>>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.failure().is_none()) {
        let Some(at) = names.iter().position(|name| *name == run.on) else { continue };
        for phase in run.recorded.iter().flat_map(|recorded| &recorded.phases) {
            let key = (phase.engine.as_str(), phase.name.as_str());
            let row = all.entry(key).or_insert_with(|| vec![Vec::new(); names.len()]);
            row[at].push(phase.seconds);
        }
    }
    let row = |((engine, name), seconds): ((&str, &str), Vec<Vec<f64>>)| PhaseRow {
        name: name.to_owned(),
        engine: engine.to_owned(),
        medians: seconds.iter().map(|seconds| median_of(seconds)).collect(),
    };
    let mut rows: Vec<PhaseRow> = all.into_iter().map(row).collect();
    let longest = |row: &PhaseRow| row.medians.iter().flatten().copied().fold(0.0, f64::max);
    rows.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    rows
}
