//! Several runs side by side: predicted beside measured, one storage beside another.

mod storages;

use std::collections::BTreeMap;

use forebay_model::summary::{ByteBounds, TaskSummary, TierSummary};
use forebay_model::{Micros, RunOrigin};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Panel, PanelContent, cost, overview};
use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::{column, share_or_null};
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "compare", draws: PanelContent::All(panel_data) };

fn panel_data(
    runs: &[IndexedRun],
    strings: &mut StringTable,
    sheet: Option<&ReportPrices>,
) -> Value {
    if runs.len() < 2 {
        return Value::Null;
    }
    let is = |run: &IndexedRun, simulated: bool| {
        (run.header.origin == RunOrigin::Simulated) == simulated
    };
    let mixed = runs.iter().any(|run| is(run, true)) && runs.iter().any(|run| is(run, false));
    // Beside a prediction, what happened is what differs from it.
    let predicted = runs.iter().position(|run| is(run, true));
    json!({
        "base": predicted.filter(|_| mixed).unwrap_or(0),
        "runs": run_totals(runs, sheet),
        "names": compare_task_names(runs, strings),
        "storages": storages::compare_groups(runs, strings),
    })
}

fn run_totals(runs: &[IndexedRun], sheet: Option<&ReportPrices>) -> Value {
    let summaries = || runs.iter().map(|run| &run.summary);
    let waits = |run: &IndexedRun| run.tasks.iter().any(|task| task.waited.is_some());
    let sure = |of: fn(&TierSummary) -> &ByteBounds| {
        let sums = summaries().map(move |summary| overview::sum_of_tiers(summary, of));
        column(sums.map(|(seen, least)| Some(least).filter(|_| seen.is_none() && least.0 > 0)))
    };
    json!({
        "n": runs.len(),
        "run": column(0..runs.len()),
        "wall_us": column(summaries().map(|summary| summary.wall_us)),
        "cost_usd": column(runs.iter().map(|run| {
            cost::run_cost(run, sheet).ok().map(|cost| cost.total)
        })),
        "waited_share": column(summaries().map(|summary| share_or_null(summary.waited_share))),
        "utilisation_share": column(runs.iter().map(|run| share_or_null(overview::core_utilisation(run)))),
        "waited_us": column(runs.iter().map(|run| waits(run).then(|| overview::total_waited(run)))),
        "read_bytes": column(summaries().map(|summary| overview::sum_of_tiers(summary, |t| &t.read).0)),
        "written_bytes":
            column(summaries().map(|summary| overview::sum_of_tiers(summary, |t| &t.written).0)),
        "read_at_least_bytes": sure(|tier| &tier.read),
        "written_at_least_bytes": sure(|tier| &tier.written),
        "operations": column(runs.iter().map(overview::operation_count)),
    })
}

/// All task names that do work, costliest first, with what each run says of them.
fn compare_task_names(runs: &[IndexedRun], strings: &mut StringTable) -> Value {
    let mut cost: BTreeMap<&str, Micros> = BTreeMap::new();
    for task in runs.iter().flat_map(|run| &run.summary.tasks).filter(|task| !task.driver) {
        *cost.entry(&task.name).or_default() += task.wall_us.unwrap_or_default();
    }
    let mut names: Vec<&str> = cost.keys().copied().collect();
    names.sort_by_key(|name| std::cmp::Reverse(cost[name]));
    let each = runs.iter().enumerate().map(|(at, run)| {
        let of: BTreeMap<&str, &TaskSummary> = {
            let tasks = run.summary.tasks.iter().filter(|task| !task.driver);
            tasks.map(|task| (&*task.name, task)).collect()
        };
        json!({
            "run": at,
            "tasks": task_column(&names, &of, |task| Some(task.count)),
            "wall_us": task_column(&names, &of, |task| task.wall_us),
            "median_us": task_column(&names, &of, |task| task.wall_median_us),
            "waited_us": task_column(&names, &of, |task| task.waited_us),
            "cpu_us": task_column(&names, &of, |task| task.cpu_us),
            "read_bytes": task_column(&names, &of, |task| task.read.seen),
            "written_bytes": task_column(&names, &of, |task| task.written.seen),
        })
    });
    let each: Vec<Value> = each.collect();
    json!({
        "n": names.len(),
        "name": column(names.iter().map(|name| strings.intern_name(name.as_bytes()))),
        "runs": each,
    })
}

fn task_column<T: Serialize>(
    names: &[&str],
    of: &BTreeMap<&str, &TaskSummary>,
    what: impl Fn(&TaskSummary) -> Option<T>,
) -> Value {
    column(names.iter().map(|name| of.get(name).and_then(|task| what(task))))
}
