//! What a run came to, at a glance.

mod storage_verdict;

use forebay_model::summary::{ByteBounds, Summary, TaskSummary, TierSummary};
use forebay_model::{ByteCount, CommandExit, Micros};
use serde_json::{Value, json};

use super::{Panel, PanelContent, cost};
use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::{at_least, at_most, column, share_or_null};
use crate::commands::report::page_text::escape_name;
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;
pub(in crate::commands::report) use storage_verdict::verdict_sentence;

pub(super) const PANEL: Panel = Panel { name: "overview", draws: PanelContent::Run(panel_data) };

fn panel_data(run: &IndexedRun, _: &mut StringTable, sheet: Option<&ReportPrices>) -> Value {
    let summary = &run.summary;
    let tasks = || summary.tasks.iter().filter(|task| !task.driver);
    let whole = run.header.cpus.map(|cpus| f64::from(cpus) * run.span.as_secs());
    let (cpu, told) = (total_cpu(summary), run.tasks.iter().filter(|task| !task.driver));
    let mut notes = Vec::new();
    if told.clone().any(|task| task.cores.is_none()) && whole.is_some() {
        notes.push("A task whose cores nobody told counts as one core that is busy.");
    }
    if summary.hidden {
        notes.push(
            "Reads and writes that went past Forebay are not in the waits: `forebay run --trace \
             every-read` sees them all.",
        );
    }
    let others = summary.others.map(|others| {
        format!(
            "Others on this machine ({}), which no part of the run started, made {} operations on \
             its files: they are in no other figure.",
            if others.processes == 1 {
                "1 process".to_owned()
            } else {
                format!("{} processes", others.processes)
            },
            others.operations
        )
    });
    notes.extend(others.as_deref());
    if !summary.complete {
        notes.push("The record is not complete: its end is missing, or facts were dropped.");
    }
    let (read, written) =
        (sum_of_tiers(summary, |tier| &tier.read), sum_of_tiers(summary, |tier| &tier.written));
    json!({
        "verdict": verdict_sentence(run),
        "advice": summary.advice.as_ref().map(|advice| escape_name(advice.sentence.as_bytes())),
        "advice_saves_us": summary.advice.as_ref().and_then(|advice| advice.saves_us),
        "wall_us": summary.wall_us,
        "cost_usd": cost::run_cost(run, sheet).ok().map(|cost| cost.total),
        "utilisation_share": share_or_null(core_utilisation(run)),
        "slots": run.header.cpus,
        "waited_share": share_or_null(summary.waited_share),
        "waited_us": run.tasks.iter().any(|task| task.waited.is_some()).then_some(total_waited(run)),
        "cpu_us": cpu,
        "cpu_share": share_or_null(summary.time.computing_share()),
        "time": summary.time,
        "pressure_share": share_or_null(summary.pressure_share),
        "tasks": tasks().map(|task| task.count).sum::<u64>(),
        "failed": tasks().map(|task| task.failed).sum::<u64>(),
        "read_bytes": read.0,
        "written_bytes": written.0,
        "read_at_least_bytes": Some(read.1).filter(|bytes| bytes.0 > 0),
        "written_at_least_bytes": Some(written.1).filter(|bytes| bytes.0 > 0),
        "read_at_most_bytes": most_moved(summary, |task| &task.read).filter(|_| read.0.is_none()),
        "written_at_most_bytes":
            most_moved(summary, |task| &task.written).filter(|_| written.0.is_none()),
        "operations": operation_count(run),
        "exit": summary.exit.map(|exit| match exit {
            CommandExit::Code(code) => code.to_string(),
            CommandExit::Signal(signal) => format!("signal {signal}"),
        }),
        "hidden": summary.hidden,
        "others": summary.others,
        "by_name": tasks_by_name(run),
        "not_seen": summary.not_seen.iter()
            .map(|elsewhere| json!([escape_name(elsewhere.program.as_bytes()), elsewhere.count]))
            .collect::<Vec<_>>(),
        "notes": notes,
    })
}

/// Cores that had a task, as a share of all from start to end; `None`: nobody knows the cores.
pub(super) fn core_utilisation(run: &IndexedRun) -> Option<f64> {
    let whole = f64::from(run.header.cpus?) * run.span.as_secs();
    let busy = run.tasks.iter().filter(|task| !task.driver).filter_map(|task| {
        let (from, to) = run.task_times(task)?;
        Some(to.since(from).as_secs() * f64::from(task.cores.unwrap_or(1)))
    });
    (whole > 0.0).then(|| (busy.sum::<f64>() / whole).min(1.0))
}

/// How long tasks waited for storage, summed.
pub(super) fn total_waited(run: &IndexedRun) -> Micros {
    run.tasks.iter().filter(|task| !task.driver).filter_map(|task| task.waited).sum()
}

fn total_cpu(summary: &Summary) -> Option<Micros> {
    let of_tasks = summary.tasks.iter().filter_map(|task| task.cpu_us);
    summary.cpu_us.or(of_tasks.reduce(|a, b| a + b))
}

/// The exact amount, if all of it was seen, and what is sure. An imported run has no storage, and of
/// it nothing was seen.
pub(super) fn sum_of_tiers(
    summary: &Summary,
    of: fn(&TierSummary) -> &ByteBounds,
) -> (Option<ByteCount>, ByteCount) {
    let tiers = || summary.tiers.iter().map(of);
    let exact = tiers().map(|amount| amount.seen).sum::<Option<ByteCount>>();
    let exact = exact.filter(|_| !summary.tiers.is_empty());
    (exact, tiers().map(|amount| amount.at_least).sum())
}

/// What all tasks moved at most, where that is known of each.
fn most_moved(summary: &Summary, of: fn(&TaskSummary) -> &ByteBounds) -> Option<ByteCount> {
    let tasks = || summary.tasks.iter().filter(|task| !task.driver);
    let most = tasks().map(|task| of(task).at_most).sum::<Option<ByteCount>>();
    most.filter(|_| tasks().next().is_some())
}

/// All of them; `None`: they were not recorded.
pub(super) fn operation_count(run: &IndexedRun) -> Option<u64> {
    let all = run.summary.tiers.iter().map(|tier| tier.operations).sum();
    (!run.ops.is_empty()).then_some(all)
}

fn tasks_by_name(run: &IndexedRun) -> Value {
    let all = &run.summary.tasks;
    let recorded = !run.ops.is_empty();
    // Records of other tools may name none.
    let named = all.iter().any(|task| task.files > 0) || !run.summary.tiers.is_empty();
    json!({
        "n": all.len(),
        "name": column(0..all.len()),
        "tasks": column(all.iter().map(|task| task.count)),
        "failed": column(all.iter().map(|task| task.failed)),
        "wall_us": column(all.iter().map(|task| task.wall_us)),
        "median_us": column(all.iter().map(|task| task.wall_median_us)),
        "cpu_us": column(all.iter().map(|task| task.cpu_us)),
        "waited_us": column(all.iter().map(|task| task.waited_us)),
        "memory_peak_bytes": column(all.iter().map(|task| task.memory_peak_bytes)),
        "split": {
            "storage_us": column(all.iter().map(|task| task.time.storage_us)),
            "computing_us": column(all.iter().map(|task| task.time.computing_us)),
            "cpu_wait_us": column(all.iter().map(|task| task.time.cpu_wait_us)),
            "elsewhere_us": column(all.iter().map(|task| task.time.elsewhere_us)),
            "unknown_us": column(all.iter().map(|task| task.time.unknown_us)),
        },
        "read_bytes": column(all.iter().map(|task| task.read.seen)),
        "written_bytes": column(all.iter().map(|task| task.written.seen)),
        "read_at_least_bytes": column(all.iter().map(|task| at_least(&task.read))),
        "read_at_most_bytes": column(all.iter().map(|task| at_most(&task.read))),
        "written_at_least_bytes": column(all.iter().map(|task| at_least(&task.written))),
        "written_at_most_bytes": column(all.iter().map(|task| at_most(&task.written))),
        "files": column(all.iter().map(|task| named.then_some(task.files))),
        "operations": column(all.iter().map(|task| recorded.then_some(task.operations))),
    })
}
