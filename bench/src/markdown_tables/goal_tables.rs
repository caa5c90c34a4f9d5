//! The two tables that say at a glance what Forebay costs and what it may cost: small operations by
//! the way files are recorded and placed, and whole pipelines by the way they are recorded.

use super::PairedRuns;
use super::record_figure;
use crate::saved_results::{Arm, RunRecord, RunUser, SavedResults};
use crate::stats::median;
use crate::targets::{self, MEMORY_MIB, TargetLimit};
use crate::workloads;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Rows of the first table: words, what names of workloads begin with, and as whom.
const WAYS: [(&str, &str, RunUser); 9] = [
    ("run, bpf", "bpf-", RunUser::Root),
    ("run, notify, root", "notify-", RunUser::Root),
    ("run, notify, ordinary user", "notify-", RunUser::User),
    ("whole folder in memory", "whole-", RunUser::Root),
    ("whole folder on the same ext4", "beside-", RunUser::Root),
    ("mount, root, in place", "uring-", RunUser::Root),
    ("mount, root, packed", "uring-packed-", RunUser::Root),
    ("mount, ordinary user", "uring-", RunUser::User),
    ("mount, root, through /dev/fuse", "", RunUser::Root),
];

/// Columns of the first table: words, and what names of workloads end with.
const OPERATIONS: [(&str, &str); 5] = [
    ("create", "create-300"),
    ("stat", "stat"),
    ("open-read-close", "read-small"),
    ("unlink", "unlink"),
    ("8 writers, create", "create-300-8"),
];

/// Columns of the second table.
const ARMS: [(&str, Arm); 5] = [
    ("bpf", Arm::Bpf),
    ("notify", Arm::Notify),
    ("mount", Arm::Covered),
    ("mount with rules", Arm::Rules),
    ("every-read", Arm::EveryRead),
];

const NOT_MEASURED: &str = "–";

pub(super) fn goal_tables(small: &SavedResults, large: &SavedResults) -> String {
    let mut text = String::from(
        "## Goals of small operations\n\nRate beside the bare file system (medians of paired runs), and \
         the goal. The mount is over io_uring, but in the last row.\n\n|",
    );
    for (word, _) in OPERATIONS {
        let _ = write!(text, " | {word}");
    }
    text += " | memory of the daemon |\n|---|---|---|---|---|---|---|\n";
    for (word, prefix, who) in WAYS {
        let cells: Vec<String> = OPERATIONS
            .iter()
            .map(|(_, operation)| operation_cell(small, &workload_name(prefix, operation), who))
            .collect();
        let memory = memory_cell(small, &workload_name(prefix, "create-300"), who, Arm::Covered);
        let _ = writeln!(text, "| {word} | {} | {memory} |", cells.join(" | "));
    }
    text + &pipeline_goals(large)
}

/// Workloads without a prefix have longer names.
fn workload_name(prefix: &str, operation: &str) -> String {
    match (prefix, operation) {
        ("", "stat") => "stat-first".to_owned(),
        ("", "read-small") => "read-small-first".to_owned(),
        _ => format!("{prefix}{operation}"),
    }
}

fn operation_cell(saved: &SavedResults, name: &str, who: RunUser) -> String {
    let Ok(workload) = workloads::find_workload(name) else { return NOT_MEASURED.to_owned() };
    let Some(runs) = PairedRuns::gather_runs(saved, name, who, Arm::Covered) else {
        return NOT_MEASURED.to_owned();
    };
    let ratio = median(
        &runs
            .paired_figures(|record| record_figure(workload, record))
            .iter()
            .map(|pair| pair.covered / pair.bare)
            .collect::<Vec<_>>(),
    );
    match targets::micro_goal(name, who) {
        TargetLimit::Ratio(least) => judged_cell(ratio, 2, least, ratio >= least),
        _ => plain_cell(ratio, 2),
    }
}

fn pipeline_goals(saved: &SavedResults) -> String {
    let mut text = String::from(
        "\n## Goals of whole pipelines\n\nWall time beside the bare file system (medians of paired \
         runs), and the goal.\n\n| pipeline | as",
    );
    for (word, _) in ARMS {
        let _ = write!(text, " | {word}");
    }
    text += " | memory of the daemon |\n|---|---|---|---|---|---|---|---|\n";
    let names: BTreeSet<&str> = saved.records.iter().map(|r| r.label.name.as_str()).collect();
    for name in names {
        for who in [RunUser::Root, RunUser::User] {
            if saved.latest_session(name, who).is_none() {
                continue;
            }
            let cells: Vec<String> =
                ARMS.iter().map(|(_, arm)| pipeline_cell(saved, name, who, *arm)).collect();
            let memory = memory_cell(saved, name, who, Arm::Covered);
            let _ = writeln!(text, "| {name} | {who} | {} | {memory} |", cells.join(" | "));
        }
    }
    text += "\n";
    text
}

fn pipeline_cell(saved: &SavedResults, name: &str, who: RunUser, arm: Arm) -> String {
    let Some(runs) = PairedRuns::gather_runs(saved, name, who, arm) else {
        return NOT_MEASURED.to_owned();
    };
    let pairs = runs.paired_figures(|record| record.ended.wall_s);
    let ratio = median(&pairs.iter().map(|pair| pair.covered / pair.bare).collect::<Vec<_>>());
    match targets::pipeline_goal(name, arm) {
        TargetLimit::Overhead(most, _) => judged_cell(ratio, 3, 1.0 + most, ratio <= 1.0 + most),
        _ => plain_cell(ratio, 3),
    }
}

/// The most that the daemon had resident.
fn memory_cell(saved: &SavedResults, name: &str, who: RunUser, arm: Arm) -> String {
    let Some(runs) = PairedRuns::gather_runs(saved, name, who, arm) else {
        return NOT_MEASURED.to_owned();
    };
    let seen = |record: &&RunRecord| record.ended.daemon_mib;
    let peaks: Vec<f64> = runs.covered.iter().filter_map(seen).collect();
    let peak = median(&peaks);
    if peak.is_nan() {
        return NOT_MEASURED.to_owned();
    }
    format!("{peak:.0} MiB, goal {MEMORY_MIB:.0}, {}", verdict(peak <= MEMORY_MIB))
}

fn judged_cell(figure: f64, digits: usize, goal: f64, is_met: bool) -> String {
    if figure.is_nan() {
        return "**failed**".to_owned();
    }
    // A miss by less than is shown would read like a flaw of the table.
    let digits = if format!("{figure:.2}") == format!("{goal:.2}") { 3 } else { digits };
    format!("{figure:.digits$}, goal {goal:.2}, {}", verdict(is_met))
}

fn plain_cell(figure: f64, digits: usize) -> String {
    if figure.is_nan() { "**failed**".to_owned() } else { format!("{figure:.digits$}") }
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**missed**" }
}
