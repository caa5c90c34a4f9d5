//! Where a file should live, by what became of it.

use std::collections::HashMap;

use forebay_model::{ClassId, FileId};

use crate::commands::explain::file_lifetimes::SuggestedPlacement;
use crate::commands::report::indexed_run::{FileTotals, IndexedRun, SMALL};
use crate::commands::report::page_text::escape_name;

/// So many small files of a class are worth packing.
const CROWD: u64 = 1_000;

/// How many small files of each class the run made.
pub(super) fn count_small_files(run: &IndexedRun) -> HashMap<ClassId, u64> {
    let mut crowds = HashMap::new();
    for (id, file) in &run.opened.files {
        let small = file.created && file.size.is_some_and(|size| size <= SMALL);
        if let Some(place) = run.file_by_id(*id).filter(|_| small) {
            *crowds.entry(place.class).or_default() += 1;
        }
    }
    crowds
}

/// The place, and the reason, in words.
pub(super) fn advise_location(
    run: &IndexedRun,
    id: FileId,
    file: &FileTotals,
    crowds: &HashMap<ClassId, u64>,
) -> (&'static str, String) {
    let place = run.file_by_id(id);
    let home = place.and_then(|place| place.home);
    if let Some(tree) = home.and_then(|home| run.trees.iter().find(|tree| tree.id == home)) {
        let tier = escape_name(IndexedRun::tier_name(tree).as_bytes());
        return ("where it was", format!("a rule sent it to tier {tier}"));
    }
    let crowd = place.and_then(|place| crowds.get(&place.class)).copied().unwrap_or(0);
    if file.created && crowd >= CROWD && file.size.is_some_and(|size| size <= SMALL) {
        return ("packed, on a fast tier", format!("one of {crowd} small files of its class"));
    }
    let Some(life) = run.lives.get(&id) else { return ("in place", String::new()) };
    let should = match life.best_location() {
        SuggestedPlacement::Scratch => "a fast tier of the node",
        SuggestedPlacement::Near => "a fast tier, written back when the run ends",
        SuggestedPlacement::Copied => "in place, with a copy on a fast tier",
        SuggestedPlacement::Place => "in place",
    };
    (should, life.location_reason())
}
