//! How large files are, and the storm of small ones.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use forebay_model::Micros;
use serde_json::{Value, json};

use super::{Panel, PanelContent};
use crate::commands::report::indexed_run::{FileTotals, IndexedRun, SMALL};
use crate::commands::report::page_columns::{column, missing_panel, rounded_number};
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "sizes", draws: PanelContent::Run(panel_data) };

/// Classes of small files that are named.
const CLASSES: usize = 20;
/// Up to 16 GiB, by fours.
const STEPS: u32 = 13;

/// Files, their bytes, and how often they were opened.
#[derive(Clone, Copy, Default)]
struct SizeTotals {
    files: u64,
    bytes: u64,
    opens: u64,
}

impl SizeTotals {
    fn add(&mut self, size: u64, file: &FileTotals) {
        self.files += 1;
        self.bytes += size;
        self.opens += file.opens;
    }
}

fn panel_data(run: &IndexedRun, _: &mut StringTable, _: Option<&ReportPrices>) -> Value {
    let files = &run.opened.files;
    if files.is_empty() {
        return missing_panel("No open file was recorded in this run.");
    }
    let mut ends: Vec<Option<u64>> = vec![Some(0)];
    ends.extend((0..STEPS).map(|step| Some(1024 << (2 * step))));
    ends.push(None);
    let mut bins = vec![SizeTotals::default(); ends.len()];
    let (mut all, mut small, mut unknown) = (SizeTotals::default(), SizeTotals::default(), 0_u64);
    let mut classes: BTreeMap<i64, (Vec<u64>, u64)> = BTreeMap::new();
    for (id, file) in files {
        let Some(size) = file.size else {
            unknown += 1;
            continue;
        };
        let bin = ends.iter().position(|end| end.is_none_or(|end| size <= end)).unwrap_or_default();
        bins[bin].add(size, file);
        all.add(size, file);
        if size <= SMALL {
            small.add(size, file);
            let class = run.file_by_id(*id).map_or(-1, |file| run.class_index(file.class));
            let (sizes, opens) = classes.entry(class).or_default();
            sizes.push(size);
            *opens += file.opens;
        }
    }
    let share = |part: u64, whole: u64| {
        if whole == 0 { Value::Null } else { rounded_number(part as f64 / whole as f64) }
    };
    json!({
        "bins": {
            "n": bins.len(),
            "upto_bytes": ends,
            "files": column(bins.iter().map(|bin| bin.files)),
            "bytes": column(bins.iter().map(|bin| bin.bytes)),
            "opens": column(bins.iter().map(|bin| bin.opens)),
        },
        "unknown": unknown,
        "small": {
            "upto_bytes": SMALL,
            "files": small.files,
            "files_share": share(small.files, all.files),
            "bytes": small.bytes,
            "bytes_share": share(small.bytes, all.bytes),
            "opens": small.opens,
            "opens_share": share(small.opens, all.opens),
            "bin_us": run.bins.us,
            "opened_per_s": run.opened.small.0.per_second(),
            "created_per_s": run.opened.small.1.per_second(),
            "classes": costliest_classes(run, classes),
        },
        "sentence": size_sentence(small, all),
        "notes": if unknown > 0 {
            vec![format!("Of {unknown} files nobody saw the size.")]
        } else {
            Vec::new()
        },
    })
}

fn size_sentence(small: SizeTotals, all: SizeTotals) -> String {
    if all.files == 0 {
        return "The size of no file was seen.".to_owned();
    }
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    format!(
        "{:.0} % of the files have 64 KiB or less: they are {:.1} % of the bytes and {:.0} % of \
         the opens.",
        percent(small.files, all.files),
        percent(small.bytes, all.bytes),
        percent(small.opens, all.opens)
    )
}

/// Classes of small files, by the time of all operations on their class.
fn costliest_classes(run: &IndexedRun, classes: BTreeMap<i64, (Vec<u64>, u64)>) -> Value {
    let mut times: BTreeMap<i64, Micros> = BTreeMap::new();
    for row in &run.ops {
        *times.entry(run.class_index(row.class)).or_default() += row.time;
    }
    let time = |class: &i64| times.get(class).copied().unwrap_or_default();
    let mut rows: Vec<_> = classes.into_iter().collect();
    rows.sort_by_key(|(class, (_, opens))| Reverse((time(class), *opens)));
    rows.truncate(CLASSES);
    rows.iter_mut().for_each(|(_, (sizes, _))| sizes.sort_unstable());
    json!({
        "n": rows.len(),
        "class": column(rows.iter().map(|(class, _)| *class)),
        "files": column(rows.iter().map(|(_, (sizes, _))| sizes.len())),
        "opens": column(rows.iter().map(|(_, (_, opens))| *opens)),
        "median_bytes": column(rows.iter().map(|(_, (sizes, _))| sizes[sizes.len() / 2])),
        "time_us": column(rows.iter().map(|(class, _)| {
            (!run.ops.is_empty()).then(|| time(class))
        })),
    })
}
