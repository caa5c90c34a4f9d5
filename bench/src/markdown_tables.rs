//! The tables in Markdown, from what is saved. It measures nothing.

use crate::error::{Error, Kind, Result};
use crate::measure::Measurement;
use crate::saved_results::{Arm, RunRecord, RunUser, SavedResults, Session};
use crate::stats::{drift_p_value, find_outliers, median};
use crate::targets::{self, BlockPair, TargetLimit};
use crate::workloads::{self, FigureUnit, Workload};
use crate::{micro, pipelines};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

mod goal_tables;
mod request_table;

/// What to print.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Where results are saved.
    #[arg(long, default_value = "target/bench")]
    pub results: PathBuf,
    /// Status 3 when a target is missed.
    #[arg(long)]
    pub check: bool,
}

/// Prints all tables.
pub fn print_tables(options: &Options) -> Result<()> {
    let small = SavedResults::load(&options.results.join(micro::FILE))?;
    let large = SavedResults::load(&options.results.join(pipelines::FILE))?;
    let mut missed = 0;
    let mut text = goal_tables::goal_tables(&small, &large);
    text += &micro_tables(&small, &mut missed);
    text += &pipeline_table(&large, &mut missed);
    text += &raw_files_note(&options.results);
    match std::io::stdout().write_all(text.as_bytes()) {
        // The reader has seen enough, as with `| head`.
        Err(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => {}
        done => done?,
    }
    if options.check && missed > 0 {
        return Err(Error::new(Kind::Missed, format!("{missed} targets are missed")));
    }
    Ok(())
}

fn raw_files_note(results: &Path) -> String {
    let shown = results.display();
    format!("\nEvery run: `{shown}/{}`, `{shown}/{}`.\n", micro::FILE, pipelines::FILE)
}

/// The runs of one row, paired by block.
#[derive(Debug)]
struct PairedRuns<'a> {
    session: &'a Session,
    bare: Vec<&'a RunRecord>,
    covered: Vec<&'a RunRecord>,
    failed: usize,
}

impl<'a> PairedRuns<'a> {
    /// From the newest session that has runs of `name` as `who` and `arm`.
    fn gather_runs(saved: &'a SavedResults, name: &str, who: RunUser, arm: Arm) -> Option<Self> {
        let session = saved.latest_session(name, who)?;
        let of_session = |record: &&&RunRecord| {
            record.label.session == session.session && record.label.name == name
        };
        let all: Vec<&RunRecord> = saved.records.iter().collect();
        let mut row = Self { session, bare: Vec::new(), covered: Vec::new(), failed: 0 };
        let mut good: BTreeMap<u32, (Option<&RunRecord>, Option<&RunRecord>)> = BTreeMap::new();
        for record in all.iter().filter(of_session) {
            let label = &record.label;
            let is_covered = label.arm == arm && label.who == who;
            if is_covered && record.failure.is_some() {
                row.failed += 1;
            } else if record.failure.is_none() {
                let both = good.entry(label.block).or_default();
                if is_covered {
                    both.1 = Some(record);
                } else if label.arm == Arm::Bare {
                    both.0 = Some(record);
                }
            }
        }
        for (bare, covered) in good.into_values() {
            if let (Some(bare), Some(covered)) = (bare, covered) {
                row.bare.push(bare);
                row.covered.push(covered);
            }
        }
        (!row.covered.is_empty() || row.failed > 0).then_some(row)
    }

    fn paired_figures(&self, figure: impl Fn(&RunRecord) -> f64) -> Vec<BlockPair> {
        let both = self.bare.iter().zip(&self.covered);
        both.map(|(bare, covered)| BlockPair { bare: figure(bare), covered: figure(covered) })
            .collect()
    }

    /// Load and what is remarkable about the runs.
    fn load_and_notes(&self, pairs: &[BlockPair]) -> (String, Vec<String>) {
        let ended = self.bare.iter().chain(&self.covered).map(|record| &record.ended);
        let load: Vec<f64> = ended.clone().map(|ended| ended.load1).collect();
        let others: Vec<f64> = ended.filter_map(|ended| ended.foreign_cores).collect();
        let others =
            if others.is_empty() { "–".to_owned() } else { format!("{:.1}", median(&others)) };
        let load = format!("{:.1} / {others}", median(&load));
        let mut notes = Vec::new();
        if self.failed > 0 {
            notes.push(format!("{} failed", self.failed));
        }
        for (word, side) in [("bare", true), ("covered", false)] {
            let figures: Vec<f64> =
                pairs.iter().map(|pair| if side { pair.bare } else { pair.covered }).collect();
            let count = find_outliers(&figures).len();
            if count > 0 {
                notes.push(format!(
                    "{count} outlier{} {word}, kept",
                    if count > 1 { "s" } else { "" }
                ));
            }
            if drift_p_value(&figures) < 0.01 {
                notes.push(format!("{word} drifts over the session"));
            }
        }
        (load, notes)
    }
}

/// The figure of a workload.
fn workload_figure(unit: FigureUnit, done: &Measurement) -> f64 {
    match unit {
        FigureUnit::OpsPerSecond => done.ops as f64 / done.seconds,
        FigureUnit::MibPerSecond => done.bytes as f64 / done.seconds / f64::from(1 << 20),
        FigureUnit::MsPerOp => done.seconds * 1e3 / done.ops as f64,
    }
}

fn record_figure(workload: &Workload, record: &RunRecord) -> f64 {
    record.measured.as_ref().map_or(f64::NAN, |done| workload_figure(workload.unit, done))
}

fn format_figure(unit: FigureUnit, value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let word = match unit {
        FigureUnit::OpsPerSecond => "/s",
        FigureUnit::MibPerSecond => " MiB/s",
        FigureUnit::MsPerOp => " ms",
    };
    format!("{}{word}", group_thousands(value, digits))
}

/// Thousands apart; a dash when there is no value.
fn group_thousands(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "–".to_owned();
    }
    let plain = format!("{value:.digits$}");
    let (whole, rest) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let mut shown = String::new();
    for (at, letter) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(letter);
    }
    shown + rest
}

fn describe_bound(goal: TargetLimit, seen: &crate::stats::MedianBound) -> String {
    let shown = goal.format_figure(seen.bound);
    match seen.runs {
        0 => "–".to_owned(),
        _ if seen.is_bound => shown,
        1 => format!("{shown} (one run)"),
        runs => format!("{shown} (range, {runs} runs)"),
    }
}

fn micro_tables(saved: &SavedResults, missed: &mut u32) -> String {
    let mut text = String::from("## Micro benchmarks\n\n");
    let mut sessions = Vec::new();
    let head = "| workload | as | bare | covered | ratio | promise | 95 % bound | verdict | runs | \
                load / others' cores | notes |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
    let mut rows = String::new();
    let mut tails = String::new();
    let mut kinds = String::new();
    for workload in workloads::all_workloads() {
        for who in [RunUser::Root, RunUser::User] {
            let Some(row) = PairedRuns::gather_runs(saved, workload.name, who, Arm::Covered) else {
                continue;
            };
            rows += &micro_row(workload, who, &row, missed);
            tails += &tail_row(workload, who, &row);
            kinds += &request_table::requests_row(workload, who, &row.covered, missed);
            if !sessions.contains(&row.session) {
                sessions.push(row.session);
            }
        }
    }
    if rows.is_empty() {
        return text + "No runs are saved.\n";
    }
    text += &session_conditions(&sessions);
    text = text + head + &rows;
    text += "\nTime of single operations (sampled), medians over the runs, µs:\n\n| workload | as | \
             bare p50 | bare p99 | covered p50 | covered p99 |\n|---|---|---|---|---|---|\n";
    text = text + &tails + &request_table::requests_header() + &kinds;
    text + &request_table::remedies_table()
}

fn session_conditions(sessions: &[&Session]) -> String {
    let mut text = String::new();
    for session in sessions {
        let (name, build, seed) = (&session.session, &session.build, session.seed);
        let said = session.conditions.join("; ");
        let _ = writeln!(text, "Session {name}, build {build}, seed {seed}: {said}.\n");
    }
    text
}

fn micro_row(workload: &Workload, who: RunUser, row: &PairedRuns<'_>, missed: &mut u32) -> String {
    let goal = targets::micro_goal(workload.name, who);
    let pairs = row.paired_figures(|record| record_figure(workload, record));
    let seen = goal.compare_pairs(&pairs);
    let verdict = goal.assess_median(&seen);
    *missed += u32::from(verdict.is_bad());
    let bare = median(&pairs.iter().map(|pair| pair.bare).collect::<Vec<_>>());
    let covered = median(&pairs.iter().map(|pair| pair.covered).collect::<Vec<_>>());
    let ratio = TargetLimit::None.compare_pairs(&pairs).median;
    let ratio = match workload.unit {
        FigureUnit::MsPerOp => TargetLimit::ExtraMs(0.0).format_figure(covered - bare),
        _ => group_thousands(ratio, 2),
    };
    let (load, notes) = row.load_and_notes(&pairs);
    format!(
        "| {} | {who} | {} | {} | {ratio} | {} | {} | {} | {} | {load} | {} |\n",
        workload.name,
        format_figure(workload.unit, bare),
        format_figure(workload.unit, covered),
        goal.in_words(),
        describe_bound(goal, &seen),
        verdict.table_word(),
        seen.runs,
        notes.join("; "),
    )
}

fn tail_row(workload: &Workload, who: RunUser, row: &PairedRuns<'_>) -> String {
    let middle = |records: &[&RunRecord], pick: fn(&Measurement) -> f64| {
        let values: Vec<f64> =
            records.iter().filter_map(|record| record.measured.as_ref()).map(pick).collect();
        group_thousands(median(&values), 1)
    };
    let p50 = |done: &Measurement| done.p50_us;
    let p99 = |done: &Measurement| done.p99_us;
    format!(
        "| {} | {who} | {} | {} | {} | {} |\n",
        workload.name,
        middle(&row.bare, p50),
        middle(&row.bare, p99),
        middle(&row.covered, p50),
        middle(&row.covered, p99),
    )
}

fn pipeline_table(saved: &SavedResults, missed: &mut u32) -> String {
    let mut text = String::from("\n## Whole pipelines\n\n");
    let names: BTreeSet<&str> = saved.records.iter().map(|r| r.label.name.as_str()).collect();
    let mut rows = String::new();
    let mut sessions = Vec::new();
    for name in names {
        for (who, arm) in [RunUser::Root, RunUser::User]
            .into_iter()
            .flat_map(|who| Arm::RECORDED.map(|arm| (who, arm)))
        {
            let Some(row) = PairedRuns::gather_runs(saved, name, who, arm) else { continue };
            rows += &pipeline_row(name, who, arm, &row, missed);
            if !sessions.contains(&row.session) {
                sessions.push(row.session);
            }
        }
    }
    if rows.is_empty() {
        return text + "No runs are saved.\n";
    }
    text += &session_conditions(&sessions);
    text += "| pipeline | as | arm | bare wall | wall | more wall | promise | 95 % bound | verdict | \
             pairs | bare CPU s | CPU s | more CPU | afterwards | requests | load / others' cores | \
             notes |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    text + &rows
}

fn pipeline_row(
    name: &str,
    who: RunUser,
    arm: Arm,
    row: &PairedRuns<'_>,
    missed: &mut u32,
) -> String {
    let goal = targets::pipeline_goal(name, arm);
    let wall = row.paired_figures(|record| record.ended.wall_s);
    let cpu = row.paired_figures(|record| record.ended.cpu_s);
    let seen = goal.compare_pairs(&wall);
    let verdict = goal.assess_median(&seen);
    *missed += u32::from(verdict.is_bad());
    let middle = |pairs: &[BlockPair], pick: fn(&BlockPair) -> f64| {
        median(&pairs.iter().map(pick).collect::<Vec<_>>())
    };
    let requests: Vec<f64> =
        row.covered.iter().map(|record| record.requests.values().sum::<u64>() as f64).collect();
    let linger: Vec<f64> = row.covered.iter().map(|record| record.ended.linger_s).collect();
    let (load, notes) = row.load_and_notes(&wall);
    format!(
        "| {name} | {who} | {arm} | {:.2} s | {:.2} s | {} | {} | {} | {} | {} | {:.2} | {:.2} | {} \
         | {:.2} s | {} | {load} | {} |\n",
        middle(&wall, |pair| pair.bare),
        middle(&wall, |pair| pair.covered),
        goal.format_figure(seen.median),
        goal.in_words(),
        describe_bound(goal, &seen),
        verdict.table_word(),
        seen.runs,
        middle(&cpu, |pair| pair.bare),
        middle(&cpu, |pair| pair.covered),
        goal.format_figure(goal.compare_pairs(&cpu).median),
        median(&linger),
        group_thousands(median(&requests), 0),
        notes.join("; "),
    )
}

#[cfg(test)]
mod tests;
