//! What must be there before the first step, and how much room all of it takes.

use super::replay_paths::ancestor_directories;
use super::run_lookup::RunLookup;
use super::{ReplayAction, ReplayScript};
use forebay_model::ByteCount;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn add_initial_state(told: &RunLookup<'_>, script: &mut ReplayScript) {
    let mut sizes: BTreeMap<usize, u64> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for open in told.opens {
        let Some(file) = told.file_of_open(open) else { continue };
        let name = &told.names[file];
        if !seen.insert(name.number) || open.open.created {
            continue;
        }
        let size = |size: Option<ByteCount>| size.map_or(0, ByteCount::get);
        let read = if open.open.write { 0 } else { size(open.open.read.map(|io| io.bytes)) };
        let known = open.open.size_at_open.or(open.open.size_at_close.filter(|_| !open.open.write));
        let bytes = known.map_or(read, ByteCount::get);
        sizes.insert(name.number, bytes);
        script.inputs.push((name.path_at(0.0).to_vec(), ByteCount(bytes)));
    }
    script.room = ByteCount(peak_bytes(told, sizes));
    script.directories = initial_directories(told, script);
    add_notes(told, script);
}

/// The most bytes that are there at one moment, in the order of the run.
fn peak_bytes(told: &RunLookup<'_>, mut sizes: BTreeMap<usize, u64>) -> u64 {
    let mut events: Vec<(f64, usize, u64)> = Vec::new();
    for open in told.opens.iter().filter(|open| open.open.write) {
        let Some(file) = told.file_of_open(open) else { continue };
        let size = open.open.size_at_close.or(open.open.wrote.map(|io| io.bytes));
        let size = size.map_or(0, ByteCount::get);
        events.push((told.close_time(open), told.names[file].number, size));
    }
    for (file, row) in told.rows.files.iter().enumerate() {
        if let Some(gone) = told.rows.gone.get(&row.id) {
            events.push((gone.as_secs(), told.names[file].number, 0));
        }
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut now: u64 = sizes.values().fold(0, |sum, size| sum.saturating_add(*size));
    let mut most = now;
    for (_, name, size) in events {
        let before = sizes.insert(name, size).unwrap_or(0);
        now = now.saturating_sub(before).saturating_add(size);
        most = most.max(now);
    }
    most
}

/// All folders of files, but for those that the run made itself, unless inputs lie in them.
fn initial_directories(told: &RunLookup<'_>, script: &ReplayScript) -> Vec<Vec<u8>> {
    let acts = || script.lanes.iter().flat_map(|lane| &lane.steps).map(|step| &step.act);
    let made: BTreeSet<&[u8]> = acts()
        .filter_map(|act| match act {
            ReplayAction::Mkdir(path) => Some(path.as_slice()),
            _ => None,
        })
        .collect();
    let inputs = script.inputs.iter().flat_map(|(path, _)| ancestor_directories(path));
    let mut needed: BTreeSet<&[u8]> = inputs.collect();
    for name in &told.names {
        let free = ancestor_directories(&name.path).take_while(|folder| !made.contains(folder));
        needed.extend(free);
    }
    // Shorter ones come before those that begin with them.
    needed.into_iter().map(<[u8]>::to_vec).collect()
}

fn add_notes(told: &RunLookup<'_>, script: &mut ReplayScript) {
    let opens = told.opens.len() as f64;
    let unseen = told.opens.iter().filter(|row| {
        let open = &row.open;
        open.read.is_none() && !open.write || open.wrote.is_none() && open.write
    });
    let unseen = unseen.count() as f64;
    if unseen > 0.0 {
        script.notes.push(format!(
            "of {:.0} % of the opens nobody saw reads and writes: what is read is the size of the \
             file, what is written what it grew by, in calls of 128 KiB, and their time is taken \
             for thinking (forebay run --trace every-read sees them)",
            unseen / opens * 100.0
        ));
    }
    if told.rows.ops.is_empty() {
        script.notes.push("no operations on names and attributes were counted".to_owned());
    }
    if !told.rows.complete {
        script.notes.push("the run was cut short: what is there is replayed".to_owned());
    }
}
