//! Requests for each operation, by kind, and what would remove them.

use crate::request_counts::REMEDIES;
use crate::saved_results::{RunRecord, RunUser};
use crate::stats::median;
use crate::targets;
use crate::workloads::Workload;
use std::collections::BTreeSet;

/// Kinds below this many requests for each operation are summed as "other".
const SHOWN_FROM: f64 = 0.01;

pub(super) fn requests_header() -> String {
    "\nRequests to the daemon for each operation (medians; the start of the run and warm-up are \
     part of the count):\n\n| workload | as | all | promise | verdict | by kind |\n\
     |---|---|---|---|---|---|\n"
        .to_owned()
}

/// One line; empty when the run file counted nothing.
pub(super) fn requests_row(
    workload: &Workload,
    who: RunUser,
    covered: &[&RunRecord],
    missed: &mut u32,
) -> String {
    let kinds: BTreeSet<&str> =
        covered.iter().flat_map(|record| record.requests.keys().map(String::as_str)).collect();
    let mut each: Vec<(&str, f64)> = kinds
        .into_iter()
        .map(|kind| {
            let counts: Vec<f64> =
                covered.iter().filter_map(|record| requests_per_operation(record, kind)).collect();
            (kind, median(&counts))
        })
        .collect();
    if each.is_empty() {
        return String::new();
    }
    each.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all: f64 = each.iter().map(|(_, count)| count).sum();
    let shown: Vec<String> = each
        .iter()
        .filter(|(_, count)| *count >= SHOWN_FROM)
        .map(|(kind, count)| format!("{kind} {count:.2}"))
        .collect();
    let judged = targets::judge_requests(workload.name, all);
    let (promise, verdict) = judged.map_or_else(Default::default, |(most, verdict)| {
        *missed += u32::from(verdict.is_bad());
        (format!("≤ {most:.0}"), verdict.table_word())
    });
    let kinds = shown.join(", ");
    format!("| {} | {who} | {all:.2} | {promise} | {verdict} | {kinds} |\n", workload.name)
}

fn requests_per_operation(record: &RunRecord, kind: &str) -> Option<f64> {
    let ops = record.measured.as_ref()?.ops_all.max(1);
    Some(record.requests.get(kind).copied().unwrap_or(0) as f64 / ops as f64)
}

pub(super) fn remedies_table() -> String {
    let mut text = String::from(
        "\nWhat would remove them:\n\n| request | what would remove it |\n|---|---|\n",
    );
    for (kind, how) in REMEDIES {
        text += &format!("| {kind} | {how} |\n");
    }
    text
}
