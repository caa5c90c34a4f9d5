//! Operations by kind, and what they cost.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use forebay_model::{Micros, Op};
use serde_json::{Value, json};

use super::{Draws, Panel};
use crate::commands::report::prices::Sheet;
use crate::commands::report::seen::Seen;
use crate::commands::report::strings::Strings;
use crate::commands::report::table::{column, missing_panel};

pub(super) const PANEL: Panel = Panel { name: "operations", draws: Draws::Run(panel_data) };

/// One kind on one tier.
#[derive(Default)]
struct Kind {
    count: u64,
    failed: u64,
    time: Micros,
    bytes: u64,
    classes: BTreeMap<i64, Micros>,
    names: BTreeMap<i64, Micros>,
}

fn panel_data(run: &Seen, strings: &mut Strings, _: Option<&Sheet>) -> Value {
    if run.ops.is_empty() {
        return missing_panel("Operations were not recorded in this run.");
    }
    let mut kinds: BTreeMap<_, Kind> = BTreeMap::new();
    for row in &run.ops {
        let key = (&row.op, &row.size_class, &row.pattern, run.tier_index(row.tree));
        let kind = kinds.entry(key).or_default();
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
    let group = |op: &str| Op::from_name(op).map_or("", |op| op.group().name());
    json!({
        "time_us": rows.iter().map(|(_, kind)| kind.time).sum::<Micros>(),
        "rows": {
            "n": rows.len(),
            "op": column(rows.iter().map(|((op, ..), _)| strings.intern_name(op.as_bytes()))),
            "group": column(rows.iter().map(|((op, ..), _)| strings.intern_text(group(op)))),
            "size": column(rows.iter().map(|((_, size, ..), _)| {
                strings.intern_optional(size.as_ref().map(|size| size.as_bytes()))
            })),
            "pattern": column(rows.iter().map(|((_, _, pattern, _), _)| {
                strings.intern_optional(pattern.as_ref().map(|pattern| pattern.as_bytes()))
            })),
            "tier": column(rows.iter().map(|((.., tier), _)| *tier)),
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
