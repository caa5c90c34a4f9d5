//! The data of a page: what all panels of all runs say. docs/formats/report.md describes it.

use forebay_model::run::note_key::{COST, REQUEST_NS};
use serde_json::{Map, Value, json};

use super::indexed_run::IndexedRun;
use super::page_columns::column;
use super::page_text::{command_text, escape_name};
use super::panels::{PANELS, PanelContent};
use super::price_sheet::ReportPrices;
use super::strings::StringTable;

/// The version of the data.
const SCHEMA: u32 = 1;

/// All that the page needs.
pub(super) fn build_document(runs: &[IndexedRun], sheet: Option<&ReportPrices>) -> Value {
    let mut strings = StringTable::new();
    let told: Vec<Value> = runs.iter().map(|run| run_document(run, &mut strings, sheet)).collect();
    let mut document = json!({ "schema": SCHEMA, "forebay": env!("CARGO_PKG_VERSION") });
    document["runs"] = told.into();
    for panel in PANELS {
        if let PanelContent::All(of) = panel.draws {
            document[panel.name] = of(runs, &mut strings, sheet);
        }
    }
    document["strings"] = strings.into_all().into();
    document
}

fn run_document(
    run: &IndexedRun,
    strings: &mut StringTable,
    sheet: Option<&ReportPrices>,
) -> Value {
    let header = &run.header;
    let mut panels = Map::new();
    for panel in PANELS {
        if let PanelContent::Run(of) = panel.draws {
            panels.insert(panel.name.to_owned(), of(run, strings, sheet));
        }
    }
    let text = |text: &Option<String>| text.as_ref().map(|text| escape_name(text.as_bytes()));
    // What panels show is not told twice.
    let more = header.more.iter().filter(|(key, _)| {
        ![COST.name(), REQUEST_NS.name()].contains(&&**key) && !key.contains('.')
    });
    let tasks = run.summary.tasks.iter().map(|task| task.count);
    json!({
        "label": run.label,
        "origin": header.origin,
        "started_unix_us": (header.started_unix.0 > 0).then_some(header.started_unix),
        "host": text(&header.host),
        "command": command_text(&header.command),
        "directory": escape_name(&header.directory),
        "cpus": header.cpus,
        "memory_bytes": header.memory,
        "complete": run.summary.complete,
        "wall_us": run.span,
        "more": more
            .map(|(key, value)| [escape_name(key.as_bytes()), escape_name(value.as_bytes())])
            .collect::<Vec<_>>(),
        "names": {
            "n": run.names.len(),
            "name": column(run.names.iter().map(|(name, _)| strings.intern_name(name.as_bytes()))),
            "tasks": column(tasks),
            "driver": column(run.names.iter().map(|(_, driver)| u8::from(*driver))),
        },
        "tiers": {
            "n": run.trees.len(),
            "name": column(run.trees.iter().map(|tree| match &tree.tier {
                Some(tier) => strings.intern_name(tier.as_bytes()),
                None => strings.intern_text("in place"),
            })),
            "path": column(run.trees.iter().map(|tree| strings.intern_name(&tree.path))),
            "fs": column(run.trees.iter().map(|tree| strings.intern_name(tree.fs_type.as_bytes()))),
            "tier": column(run.trees.iter().map(|tree| u8::from(tree.tier.is_some()))),
            "limit_bytes": column(run.trees.iter().map(|tree| run.capacity_limit(tree))),
        },
        "classes": {
            "n": run.classes.len(),
            "pattern": column(run.classes.iter().map(|class| strings.intern_name(class.as_bytes()))),
        },
        "panels": panels,
    })
}
