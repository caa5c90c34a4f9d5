//! The order that only a shell knows: of the children of one process, those that began when another
//! had ended waited for it. So a script, a loop, `xargs -P 2` and `a & b & wait` keep their order,
//! although no file and no engine tells it.
//!
//! A child that starts tasks itself stands for all of them. What it is not: a guess at why the parent
//! waited. An engine that had no slot free waited for nothing but a slot, so what two tasks of an
//! engine have to do with each other is for the engine to tell.

use super::timeline::{ROUNDED, SLACK, Timeline};
use crate::loaded_run::LoadedRun;
use forebay_model::ProcessId;
use forebay_model::run::ProcessRow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// A start may be told so much earlier than it was, and an end as much later.
const ORDER_SLACK: f64 = 2.0 * ROUNDED;
/// As in [`inferred`](super::inferred): more edges are not worth their memory: the last of the earlier ones stand for all of them.
const EDGES_MAX: usize = 1_000_000;

/// A child, or all that it started.
#[derive(Clone, Debug, Default)]
struct ChildTasks {
    from: f64,
    /// When the first of its tasks began.
    works_from: f64,
    to: f64,
    /// Places of tasks that wait for none of the others, and for which none of the others waits.
    first: Vec<usize>,
    last: Vec<usize>,
    /// An engine tells of all its tasks.
    told: bool,
}

/// Pairs of a task and one that it waits for, by places in the timeline.
pub(super) fn sibling_edges(rows: &LoadedRun, line: &Timeline) -> Vec<(usize, usize)> {
    let drivers: BTreeSet<u32> =
        rows.tasks.iter().filter(|task| task.driver).map(|task| task.id).collect();
    let starts_tasks =
        |row: &ProcessRow| row.task.is_none_or(|task| drivers.contains(&task)) && !row.stranger;
    let parents: BTreeMap<ProcessId, &ProcessRow> =
        rows.processes.iter().filter(|row| starts_tasks(row)).map(|row| (row.id, row)).collect();
    let mut children: BTreeMap<Option<ProcessId>, Vec<&ProcessRow>> = BTreeMap::new();
    for row in &rows.processes {
        let parent = row.parent.filter(|parent| *parent != row.id);
        if parent.is_none_or(|parent| parents.contains_key(&parent)) {
            children.entry(parent).or_default().push(row);
        }
    }
    let mut edges = Vec::new();
    let mut done: BTreeMap<ProcessId, ChildTasks> = BTreeMap::new();
    // Children before their parents; of a circle, which no honest record has, nothing is learnt.
    let mut order = vec![None];
    let mut next = 0;
    while let Some(parent) = order.get(next).copied() {
        let below = children.get(&parent).into_iter().flatten();
        order.extend(below.filter(|row| parents.contains_key(&row.id)).map(|row| Some(row.id)));
        next += 1;
    }
    // Of those whose parent nobody saw, nobody knows what they have to do with each other.
    for parent in order.into_iter().flatten().rev() {
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut siblings: Vec<ChildTasks> = Vec::new();
        for row in children.get(&Some(parent)).into_iter().flatten() {
            if parents.contains_key(&row.id) {
                siblings.extend(done.remove(&row.id));
            } else if let Some(&at) = row.task.and_then(|task| line.place.get(&task))
                && seen.insert(at)
            {
                let ran = &line.ran[at];
                let told = rows.tasks[ran.row].engine != "processes";
                let only = vec![at];
                siblings.push(ChildTasks {
                    from: ran.start,
                    works_from: ran.start,
                    to: ran.end,
                    first: only.clone(),
                    last: only,
                    told,
                });
            }
        }
        let mut found = waits_among(&mut siblings);
        found.extend(fed_by_pipes(&siblings));
        let child = parents.get(&parent).and_then(|row| as_one_child(row, &siblings, &found));
        done.extend(child.map(|child| (parent, child)));
        edges.extend(found);
    }
    edges
}

/// What waited for what among the children of one process. Sorts them by their start.
fn waits_among(siblings: &mut [ChildTasks]) -> Vec<(usize, usize)> {
    siblings.sort_by(|a, b| a.from.total_cmp(&b.from).then(a.to.total_cmp(&b.to)));
    let siblings = &*siblings;
    let most = EDGES_MAX / siblings.len().max(1);
    let mut edges = Vec::new();
    // Those that still ran when the last one began, by when they ended. Times are not negative, so
    // their bits are in their order.
    let mut running: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    // Those that had ended, and that none of the ended ones had waited for.
    let mut ended: Vec<usize> = Vec::new();
    for (at, child) in siblings.iter().enumerate() {
        let has_ended = |one: usize| siblings[one].to <= child.from + ORDER_SLACK;
        while let Some(&Reverse((_, one))) = running.peek()
            && has_ended(one)
        {
            running.pop();
            ended.push(one);
        }
        if let Some(&latest) = ended.iter().max() {
            let began = siblings[latest].from + ORDER_SLACK;
            ended.retain(|&one| one == latest || siblings[one].to > began);
        }
        let mut before: Vec<usize> =
            ended.iter().copied().filter(|&one| !(child.told && siblings[one].told)).collect();
        before.sort_by(|&a, &b| siblings[b].to.total_cmp(&siblings[a].to).then(a.cmp(&b)));
        let most = (most / child.first.len().max(1)).max(1);
        let tasks = before.iter().flat_map(|&one| &siblings[one].last).take(most);
        for &earlier in tasks {
            let later = child.first.iter().filter(|&&later| earlier < later);
            edges.extend(later.map(|&later| (later, earlier)));
        }
        running.push(Reverse((child.to.max(0.0).to_bits(), at)));
    }
    edges
}

/// What waited for the end of a program that a shell had started beside it: in `find | xargs cat` the
/// first `cat` begins when `find` has ended. `siblings` are sorted by their start.
fn fed_by_pipes(siblings: &[ChildTasks]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for (at, reader) in siblings.iter().enumerate() {
        let began_together = |other: &&ChildTasks| (other.from - reader.from).abs() < SLACK;
        let before = siblings[..at].iter().rev().take_while(began_together);
        let beside = before.chain(siblings[at + 1..].iter().take_while(began_together));
        if reader.works_from <= reader.from + SLACK {
            continue;
        }
        let fed = beside.filter(|other| (other.to - reader.works_from).abs() < ORDER_SLACK);
        for earlier in fed.flat_map(|other| &other.last) {
            let later = reader.first.iter().filter(|later| earlier < *later);
            edges.extend(later.map(|&later| (later, *earlier)));
        }
    }
    edges
}

/// A process with all tasks that it started, for its own siblings; nothing, if there are none.
fn as_one_child(
    row: &ProcessRow,
    children: &[ChildTasks],
    edges: &[(usize, usize)],
) -> Option<ChildTasks> {
    let (later, earlier): (BTreeSet<usize>, BTreeSet<usize>) = edges.iter().copied().unzip();
    let of = |tasks: fn(&ChildTasks) -> &Vec<usize>, but: &BTreeSet<usize>| {
        let all = children.iter().flat_map(tasks).copied();
        all.filter(|task| !but.contains(task)).collect::<Vec<_>>()
    };
    let first = children.first()?.from;
    let last = children.iter().map(|child| child.to).fold(first, f64::max);
    Some(ChildTasks {
        from: row.started.map_or(first, |at| at.as_secs()),
        works_from: first,
        to: row.ended.map_or(last, |at| at.as_secs()),
        first: of(|child| &child.first, &later),
        last: of(|child| &child.last, &earlier),
        told: children.iter().all(|child| child.told),
    })
}

#[cfg(test)]
mod tests;
