//! Which task names make which classes of files, and who reads them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Panel, PanelContent};
use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::{column, missing_panel};
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "flow", draws: PanelContent::Run(panel_data) };

/// More cannot be told apart in a drawing.
const MOST: usize = 120;

/// Bytes and files, by task name and class.
type Flows = BTreeMap<(i64, i64), (u64, u64)>;

fn panel_data(run: &IndexedRun, _: &mut StringTable, _: Option<&ReportPrices>) -> Value {
    let (mut written, mut read) = (Flows::new(), Flows::new());
    let mut hidden = 0_u64;
    for (task, class, file, pair) in
        run.opened.pairs_with_class(|file| Some(run.file_by_id(file)?.class))
    {
        let key = (run.name_index(task), class.map_or(-1, |class| run.class_index(class)));
        let add = |flows: &mut Flows, bytes: u64| {
            let flow = flows.entry(key).or_default();
            flow.0 += bytes;
            flow.1 += 1;
        };
        if pair.wrote {
            add(&mut written, pair.written);
        }
        if pair.reads {
            // What went past Forebay was about the size of the file.
            let size = run.opened.file_by_id(file).and_then(|file| file.size);
            let past = pair.read_hidden && pair.read == 0;
            hidden += u64::from(past);
            add(&mut read, if past { size.unwrap_or_default() } else { pair.read });
        }
    }
    if written.is_empty() && read.is_empty() {
        return missing_panel("No open file was recorded in this run.");
    }
    let mut left_out = 0;
    let mut notes = Vec::new();
    if hidden > 0 {
        notes.push(format!(
            "Reads of {hidden} files by a task went past Forebay: they count as the whole file, once."
        ));
    }
    json!({
        "written": flow_rows(written, &mut left_out),
        "read": flow_rows(read, &mut left_out),
        "left_out_bytes": left_out,
        "notes": notes,
    })
}

fn flow_rows(flows: Flows, left_out: &mut u64) -> Value {
    let mut rows: Vec<_> = flows.into_iter().collect();
    rows.sort_by_key(|(key, (bytes, files))| (Reverse((*bytes, *files)), *key));
    *left_out += rows.iter().skip(MOST).map(|(_, (bytes, _))| bytes).sum::<u64>();
    rows.truncate(MOST);
    json!({
        "n": rows.len(),
        "name": column(rows.iter().map(|((name, _), _)| *name)),
        "class": column(rows.iter().map(|((_, class), _)| *class)),
        "bytes": column(rows.iter().map(|(_, (bytes, _))| *bytes)),
        "files": column(rows.iter().map(|(_, (_, files))| *files)),
    })
}
