//! What went to and from storage over time, and how the machine was.

mod sampled_machines;

use forebay_model::Micros;
use serde_json::{Value, json};

use super::{Panel, PanelContent};
use crate::commands::report::bins::BinnedAmounts;
use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::missing_panel;
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "io", draws: PanelContent::Run(panel_data) };

fn panel_data(run: &IndexedRun, _: &mut StringTable, _: Option<&ReportPrices>) -> Value {
    if run.trees.is_empty() && run.machines.is_empty() {
        return missing_panel("Neither storage nor the machine was looked at in this run.");
    }
    let mut notes =
        vec!["Bytes are spread evenly from open to close, operations over their task.".to_owned()];
    if run.opened.hidden > 0 {
        notes.push(format!(
            "{} of {} opens read or wrote past Forebay: of these only growth is counted. Block \
             devices, where they were sampled, show what came to them.",
            run.opened.hidden, run.opened.opens
        ));
    }
    if run.machines.is_empty() {
        notes.push("The machine was not sampled in this run.".to_owned());
    }
    let (operations, queues) = spread_operations(run);
    let known = !run.ops.is_empty();
    let tiers = run.trees.iter().enumerate().map(|(at, _)| {
        let or_none = |spread: Value| if known { spread } else { Value::Null };
        json!({
            "tier": at,
            "read_bytes_per_s": run.opened.read[at].per_second(),
            "written_bytes_per_s": run.opened.written[at].per_second(),
            "operations_per_s": or_none(operations[at].per_second()),
            "queue": or_none(queues[at].at_once()),
        })
    });
    json!({
        "bin_us": run.bins.us,
        "bins": run.bins.count,
        "tiers": tiers.collect::<Vec<_>>(),
        "devices": sampled_machines::busy_devices(run),
        "nodes": sampled_machines::sampled_nodes(run),
        "notes": notes,
    })
}

/// By tree, how many operations there were, and how long they took.
fn spread_operations(run: &IndexedRun) -> (Vec<BinnedAmounts>, Vec<BinnedAmounts>) {
    let empty = || vec![BinnedAmounts::new(run.bins); run.trees.len()];
    let (mut operations, mut queues) = (empty(), empty());
    for row in &run.ops {
        let task = row.task.and_then(|id| {
            let at = run.tasks.binary_search_by_key(&id, |task| task.id).ok()?;
            run.task_times(&run.tasks[at])
        });
        // Nobody knows when the operations of nobody were.
        let (from, to) = task.unwrap_or((Micros::ZERO, run.span));
        if let Ok(tree) = usize::try_from(run.tier_index(row.tree)) {
            operations[tree].add_evenly(from, to, row.count as f64);
            queues[tree].add_evenly(from, to, row.time.0 as f64);
        }
    }
    (operations, queues)
}
