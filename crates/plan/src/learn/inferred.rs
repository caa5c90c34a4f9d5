//! What waited for what where neither files nor records say: guessed from times, kind by kind.
//!
//! If for every task of one kind there is one of another kind with the same key (a sample) that was
//! done before, each waits for its own; if all of the one were done before the first of the other
//! began, all wait for all. What follows from two such steps is left out.

use super::timeline::{SLACK, Timeline};
use crate::loaded_run::LoadedRun;
use std::collections::{BTreeMap, BTreeSet};

/// More edges between two kinds are not worth their memory: the last of the earlier ones stand for
/// all of them.
const EDGES_MAX: usize = 1_000_000;

/// One kind: its tasks, by key too.
#[derive(Debug, Default)]
struct KindTasks<'a> {
    tasks: Vec<usize>,
    keys: BTreeMap<Option<&'a str>, Vec<usize>>,
    start: f64,
    end: f64,
}

/// How a later kind follows an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    ByKey,
    All,
}

/// Pairs of a task and one that it waits for, by places in the timeline.
pub(super) fn infer_edges(rows: &LoadedRun, line: &Timeline) -> Vec<(usize, usize)> {
    let mut by_name: BTreeMap<&str, KindTasks<'_>> = BTreeMap::new();
    for (place, ran) in line.ran.iter().enumerate() {
        let row = &rows.tasks[ran.row];
        let new = || KindTasks { start: f64::INFINITY, ..KindTasks::default() };
        let kind = by_name.entry(&row.name).or_insert_with(new);
        kind.tasks.push(place);
        kind.keys.entry(row.key.as_deref()).or_default().push(place);
        (kind.start, kind.end) = (kind.start.min(ran.start), kind.end.max(ran.end));
    }
    let mut kinds: Vec<KindTasks<'_>> = by_name.into_values().collect();
    kinds.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.tasks.cmp(&b.tasks)));
    let mut before: Vec<BTreeMap<usize, Follows>> = Vec::new();
    for later in 0..kinds.len() {
        let known = |earlier: usize| {
            Some((earlier, relation_between(line, &kinds[earlier], &kinds[later])?))
        };
        before.push((0..later).filter_map(known).collect());
    }
    let mut edges = Vec::new();
    for (later, all) in before.iter().enumerate() {
        let implied: BTreeSet<usize> =
            all.keys().flat_map(|&step| before[step].keys()).copied().collect();
        for (&earlier, &how) in all.iter().filter(|(earlier, _)| !implied.contains(earlier)) {
            add_edges(line, &kinds[earlier], &kinds[later], how, &mut edges);
        }
    }
    edges
}

fn relation_between(
    line: &Timeline,
    earlier: &KindTasks<'_>,
    later: &KindTasks<'_>,
) -> Option<Follows> {
    let own = |(key, tasks): (&Option<&str>, &Vec<usize>)| {
        let first = tasks.iter().map(|&at| line.ran[at].start).fold(f64::INFINITY, f64::min);
        let last = earlier.keys.get(key)?.iter().map(|&at| line.ran[at].end).fold(0.0, f64::max);
        (key.is_some() && last <= first + SLACK).then_some(())
    };
    if later.keys.iter().all(|one| own(one).is_some()) {
        return Some(Follows::ByKey);
    }
    (earlier.end <= later.start + SLACK).then_some(Follows::All)
}

fn add_edges(
    line: &Timeline,
    earlier: &KindTasks<'_>,
    later: &KindTasks<'_>,
    how: Follows,
    edges: &mut Vec<(usize, usize)>,
) {
    if how == Follows::ByKey {
        for (key, tasks) in &later.keys {
            for &task in tasks {
                edges.extend(earlier.keys[key].iter().map(|&before| (task, before)));
            }
        }
        return;
    }
    let mut last = earlier.tasks.clone();
    last.sort_by(|&a, &b| line.ran[b].end.total_cmp(&line.ran[a].end).then(a.cmp(&b)));
    last.truncate((EDGES_MAX / later.tasks.len()).max(1));
    for &task in &later.tasks {
        edges.extend(last.iter().map(|&before| (task, before)));
    }
}
