//! The processes of one task as lanes: who started whom, and when. A parent that waits for a child
//! does so in the replay, too, for as long as the child takes there.

use super::run_lookup::RunLookup;
use crate::learn::SLACK;
use forebay_model::ProcessId;
use std::collections::{BTreeMap, BTreeSet};

/// One process that did something, or the task itself.
#[derive(Clone, Debug, Default)]
pub(super) struct ActorSpan {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Seconds that its operations took.
    pub(super) waited: f64,
    /// Places among the lives of the task.
    pub(super) children: Vec<usize>,
}

/// Lives of a task: the first is the task's own; others are those of processes that acted, by number.
pub(super) fn process_lives(
    told: &RunLookup<'_>,
    turn: usize,
    acted: &BTreeMap<ProcessId, (f64, f64)>,
) -> (Vec<ActorSpan>, BTreeMap<ProcessId, usize>) {
    let (start, end) = told.owner_span(Some(turn));
    let mut lives = vec![ActorSpan { from: start, to: end, ..ActorSpan::default() }];
    let places: BTreeMap<ProcessId, usize> =
        acted.keys().enumerate().map(|(at, id)| (*id, at + 1)).collect();
    for (id, &(first, last)) in acted {
        let row = find_process(told, *id);
        let started = row.and_then(|row| row.started).map_or(first, |at| at.as_secs());
        let ended = row.and_then(|row| row.ended).map_or(last, |at| at.as_secs());
        let waited = told.rows.io_wait_seconds(*id);
        // Starts are told in hundredths of a second, and ends are noticed late: of two processes, one
        // after the other, neither may seem to run beside the other.
        let from = if first - started > SLACK { started } else { first };
        let to = if ended - last > SLACK { ended } else { last };
        lives.push(ActorSpan { from, to, waited, children: Vec::new() });
    }
    for (id, &place) in &places {
        let parent = acting_ancestor(told, *id, &places);
        let from = lives[place].from.max(lives[parent].from);
        lives[place].from = from;
        lives[place].to = lives[place].to.max(from);
        lives[parent].children.push(place);
    }
    (lives, places)
}

fn find_process<'a>(
    told: &RunLookup<'a>,
    id: ProcessId,
) -> Option<&'a forebay_model::run::ProcessRow> {
    let all = &told.rows.processes;
    all.binary_search_by_key(&id, |row| row.id).ok().map(|at| &all[at])
}

/// The nearest ancestor that acted in the same task; else the task itself.
fn acting_ancestor(
    told: &RunLookup<'_>,
    id: ProcessId,
    places: &BTreeMap<ProcessId, usize>,
) -> usize {
    let mut seen = BTreeSet::from([id]);
    let mut next = find_process(told, id).and_then(|row| row.parent);
    while let Some(id) = next.filter(|id| seen.insert(*id)) {
        if let Some(&place) = places.get(&id) {
            return place;
        }
        next = find_process(told, id).and_then(|row| row.parent);
    }
    0
}
