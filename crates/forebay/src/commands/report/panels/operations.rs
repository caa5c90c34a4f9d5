//! Operations by kind, and what they cost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use forebay_model::Micros;
use forebay_model::run::OpKind;
use serde_json::{Value, json};

use super::{Panel, PanelContent};
use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::{column, missing_panel};
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "operations", draws: PanelContent::Run(panel_data) };

/// One kind on one tier.
#[derive(Default)]
struct OpKindTotals {
    count: u64,
    failed: u64,
    time: Micros,
    bytes: u64,
    classes: BTreeMap<i64, Micros>,
    names: BTreeMap<i64, Micros>,
}

fn panel_data(run: &IndexedRun, strings: &mut StringTable, _: Option<&ReportPrices>) -> Value {
    if run.ops.is_empty() {
        return missing_panel("Operations were not recorded in this run.");
    }
    let mut kinds: BTreeMap<_, OpKindTotals> = BTreeMap::new();
    for row in &run.ops {
        let kind = kinds.entry((&row.kind, run.tier_index(row.tree))).or_default();
        kind.count += row.count;
        kind.failed += row.failed;
        kind.time += row.time;
        kind.bytes += row.bytes.get();
        *kind.classes.entry(run.class_index(row.class)).or_default() += row.time;
        *kind.names.entry(run.name_index(row.task)).or_default() += row.time;
    }
    let mut rows: Vec<_> = kinds.into_iter().collect();
    rows.sort_by_key(|(_, kind)| Reverse((kind.time, kind.count)));
    let most =
        |of: &BTreeMap<i64, Micros>| of.iter().max_by_key(|(_, time)| **time).map(|of| *of.0);
    let group = |kind: &OpKind| kind.op().map_or("", |op| op.group().name());
    json!({
        "time_us": rows.iter().map(|(_, kind)| kind.time).sum::<Micros>(),
        "rows": {
            "n": rows.len(),
            "op": column(rows.iter().map(|((kind, _), _)| strings.intern_name(kind.name().as_bytes()))),
            "group": column(rows.iter().map(|((kind, _), _)| strings.intern_text(group(kind)))),
            "size": column(rows.iter().map(|((kind, _), _)| {
                strings.intern_optional(kind.size_name().map(str::as_bytes))
            })),
            "pattern": column(rows.iter().map(|((kind, _), _)| {
                strings.intern_optional(kind.pattern_name().map(str::as_bytes))
            })),
            "tier": column(rows.iter().map(|((_, tier), _)| *tier)),
            "count": column(rows.iter().map(|(_, kind)| kind.count)),
            "failed": column(rows.iter().map(|(_, kind)| kind.failed)),
            "time_us": column(rows.iter().map(|(_, kind)| kind.time)),
            "bytes": column(rows.iter().map(|(_, kind)| kind.bytes)),
            "class": column(rows.iter().map(|(_, kind)| most(&kind.classes))),
            "name": column(rows.iter().map(|(_, kind)| most(&kind.names))),
        },
        "notes": ["Times are summed over tasks that ran at the same time."],
    })
}
