//! How full each tier was.

use std::cmp::Reverse;

use forebay_model::{Micros, TreeId};
use serde_json::{Value, json};

use super::{Panel, PanelContent};
use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::missing_panel;
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "tiers", draws: PanelContent::Run(panel_data) };

/// At a moment, so many bytes and files more or less.
type OccupancyChange = (Micros, i64, i64);

fn panel_data(run: &IndexedRun, _: &mut StringTable, _: Option<&ReportPrices>) -> Value {
    if run.opened.files.is_empty() {
        return missing_panel("No open file was recorded in this run.");
    }
    let rows = run.trees.iter().enumerate().map(|(at, tree)| {
        let changes = size_changes(run, tree.id);
        let (used, files, peak) = occupancy_over_time(run, &changes);
        let limit = run.capacity_limit(tree);
        json!({ "tier": at, "used_bytes": used, "files": files, "peak_bytes": peak,
            "limit_bytes": limit })
    });
    let mut notes =
        vec!["Counted are files that the run made, from their first close on.".to_owned()];
    if run.gone.is_empty() {
        notes.push("Nobody saw a file go: what was removed counts to the end.".to_owned());
    }
    if run.trees.iter().any(|tree| tree.tier.is_some() && run.capacity_limit(tree).is_none()) {
        notes.push("Nobody said how much may lie on a tier without a limit here.".to_owned());
    }
    json!({
        "bin_us": run.bins.us,
        "bins": run.bins.count,
        "rows": rows.collect::<Vec<_>>(),
        "notes": notes,
    })
}

/// The most bytes that files of the run took there at a moment.
pub(super) fn peak_on_tier(run: &IndexedRun, tree: TreeId) -> u64 {
    occupancy_over_time(run, &size_changes(run, tree)).2.max(0) as u64
}

/// In the order of time; what comes before what goes at the same moment, so that no sum is too small.
fn size_changes(run: &IndexedRun, tree: TreeId) -> Vec<OccupancyChange> {
    let mut changes = Vec::new();
    for (id, file) in run.opened.files.iter().filter(|(_, file)| file.created) {
        let place = run.file_by_id(*id).map(|place| place.home.unwrap_or(place.tree));
        if place != Some(tree) {
            continue;
        }
        let mut held = 0;
        let gone = run.gone.get(id).copied();
        for (nth, (at, size)) in file.sizes.iter().enumerate() {
            if gone.is_some_and(|gone| gone < *at) {
                break;
            }
            changes.push((*at, *size as i64 - held, i64::from(nth == 0)));
            held = *size as i64;
        }
        if let Some(gone) = gone.filter(|gone| file.sizes.first().is_some_and(|(at, _)| at <= gone))
        {
            changes.push((gone, -held, -1));
        }
    }
    changes.sort_unstable_by_key(|(at, bytes, files)| (*at, Reverse(*bytes), Reverse(*files)));
    changes
}

/// At the end of each part of the run, bytes and files; and the most bytes at any moment.
fn occupancy_over_time(run: &IndexedRun, changes: &[OccupancyChange]) -> (Vec<i64>, Vec<i64>, i64) {
    let (mut used, mut files) = (vec![0; run.bins.count], vec![0; run.bins.count]);
    let (mut bytes, mut count, mut peak) = (0_i64, 0_i64, 0_i64);
    let mut next = 0;
    for bin in 0..run.bins.count {
        while let Some((_, more_bytes, more_files)) =
            changes.get(next).filter(|(at, ..)| run.bins.bin_at(*at) <= bin)
        {
            bytes += more_bytes;
            count += more_files;
            peak = peak.max(bytes);
            next += 1;
        }
        (used[bin], files[bin]) = (bytes, count);
    }
    (used, files, peak)
}
