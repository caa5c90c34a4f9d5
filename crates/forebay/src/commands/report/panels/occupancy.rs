//! Who was at work when: one line for each task.

mod critical;
mod task_files;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use forebay_model::run::TaskRow;
use forebay_model::summary::ByteBounds;
use forebay_model::{ByteCount, Micros};
use serde_json::{Value, json};

use super::{Panel, PanelContent};
use crate::commands::report::bins::BinnedAmounts;
use crate::commands::report::indexed_run::{IndexedRun, TaskFileTotals};
use crate::commands::report::page_columns::{at_least, at_most, column, missing_panel};
use crate::commands::report::page_text::command_text;
use crate::commands::report::price_sheet::ReportPrices;
use crate::commands::report::strings::StringTable;

pub(super) const PANEL: Panel = Panel { name: "occupancy", draws: PanelContent::Run(panel_data) };

fn panel_data(run: &IndexedRun, strings: &mut StringTable, _: Option<&ReportPrices>) -> Value {
    let mut timed: Vec<&TaskRow> = run.tasks.iter().filter(|task| task.started.is_some()).collect();
    if timed.is_empty() {
        return missing_panel(match run.tasks.is_empty() {
            true => "No task was seen in this run.",
            false => "Nobody told when the tasks of this run began.",
        });
    }
    timed.sort_by_key(|task| (task.started, task.id));
    let (drivers, tasks): (Vec<&TaskRow>, Vec<&TaskRow>) =
        timed.into_iter().partition(|task| task.driver);
    let (lanes, count, of_nodes) = lanes_by_node(run, &tasks);
    let mut notes = vec![
        "A task is on the lowest lane that was free when it began: lanes are no cores.".to_owned(),
    ];
    notes.extend(of_nodes);
    let untimed = run.tasks.iter().filter(|task| task.started.is_none()).count();
    if untimed > 0 {
        notes.push(format!("{untimed} tasks are not shown: nobody told when they began."));
    }
    let files = task_files::task_file_table(run, &tasks, strings);
    notes.extend(files.note);
    let (mut running, mut waiting) = (BinnedAmounts::new(run.bins), BinnedAmounts::new(run.bins));
    for task in &tasks {
        let (from, to) = run.task_times(task).unwrap_or_default();
        running.add_evenly(from, to, to.since(from).0 as f64);
        waiting.add_evenly(
            from,
            to,
            task.waited.unwrap_or_default().0.min(to.since(from).0) as f64,
        );
    }
    let waits_known = tasks.iter().any(|task| task.waited.is_some());
    json!({
        "wall_us": run.span,
        "lanes": count,
        "lane_of": "lanes",
        "cpus": run.header.cpus,
        "files": files.table,
        "critical": critical::critical_path(run, &tasks, strings),
        "tasks": task_rows(run, &tasks, &lanes, strings),
        "drivers": task_rows(run, &drivers, &self::assign_lanes(run, &drivers).0, strings),
        "busy": {
            "bin_us": run.bins.us,
            "running": running.at_once(),
            "waiting": if waits_known { waiting.at_once() } else { Value::Null },
        },
        "notes": notes,
    })
}

fn task_rows(
    run: &IndexedRun,
    tasks: &[&TaskRow],
    lanes: &[usize],
    strings: &mut StringTable,
) -> Value {
    let read: Vec<ByteBounds> = tasks.iter().map(|task| bytes_read(run, task)).collect();
    let written: Vec<ByteBounds> = tasks.iter().map(|task| bytes_written(run, task)).collect();
    let cpu = |task: &TaskRow| {
        let known = task.cpu_user.or(task.cpu_system);
        known.map(|_| task.cpu_user.unwrap_or_default() + task.cpu_system.unwrap_or_default())
    };
    let times = |task: &TaskRow| run.task_times(task).unwrap_or_default();
    json!({
        "n": tasks.len(),
        "name": column(tasks.iter().map(|task| run.name_index(Some(task.id)))),
        "lane": column(lanes),
        "start_us": column(tasks.iter().map(|task| times(task).0)),
        "end_us": column(tasks.iter().map(|task| times(task).1)),
        "open_end": column(tasks.iter().map(|task| u8::from(task.ended.is_none()))),
        "exit": column(tasks.iter().map(|task| task.exit_status)),
        "waited_us": column(tasks.iter().map(|task| task.waited)),
        "cpu_us": column(tasks.iter().map(|task| cpu(task))),
        "memory_peak_bytes": column(tasks.iter().map(|task| task.memory_peak.or(task.memory))),
        "read_bytes": column(read.iter().map(|amount| amount.seen)),
        "read_at_least_bytes": column(read.iter().map(at_least)),
        "read_at_most_bytes": column(read.iter().map(at_most)),
        "written_bytes": column(written.iter().map(|amount| amount.seen)),
        "written_at_least_bytes": column(written.iter().map(at_least)),
        "written_at_most_bytes": column(written.iter().map(at_most)),
        "cores": column(tasks.iter().map(|task| task.cores)),
        "key": column(tasks.iter().map(|task| {
            strings.intern_optional(key_with_node(task).as_ref().map(|key| key.as_bytes()))
        })),
        "command": column(tasks.iter().map(|task| {
            run.commands.get(&task.id).map_or(-1, |words| strings.intern_text(&command_text(words)))
        })),
    })
}

fn bytes_read(run: &IndexedRun, task: &TaskRow) -> ByteBounds {
    task_amount(run, task, |pair| (pair.read, pair.read_hidden), task.rchar_upper)
}

fn bytes_written(run: &IndexedRun, task: &TaskRow) -> ByteBounds {
    task_amount(run, task, |pair| (pair.written, pair.write_hidden), task.wchar_upper)
}

/// Of tasks whose operations nobody recorded no bytes were seen.
fn task_amount(
    run: &IndexedRun,
    task: &TaskRow,
    of: fn(&TaskFileTotals) -> (u64, bool),
    at_most: Option<ByteCount>,
) -> ByteBounds {
    let pairs = || run.opened.pairs_of_task(task.id).iter().map(|(_, pair)| of(pair));
    let at_least = ByteCount(pairs().map(|(bytes, _)| bytes).sum());
    let seen = task.waited.is_some() && !pairs().any(|(_, hidden)| hidden);
    ByteBounds { seen: seen.then_some(at_least), at_least, at_most }
}

/// What tells a task from others of its name, and where it ran.
fn key_with_node(task: &TaskRow) -> Option<String> {
    match (&task.key, &task.node) {
        (Some(key), Some(node)) => Some(format!("{key} on {node}")),
        (None, Some(node)) => Some(format!("on {node}")),
        (key, None) => key.clone(),
    }
}

/// For each task a lane of its node, how many there are, and of a joined run which are whose.
fn lanes_by_node(run: &IndexedRun, tasks: &[&TaskRow]) -> (Vec<usize>, usize, Option<String>) {
    let mut nodes: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (at, task) in tasks.iter().enumerate() {
        nodes.entry(task.node.as_deref()).or_default().push(at);
    }
    let (mut lanes, mut first) = (vec![0; tasks.len()], 0);
    let mut told = Vec::new();
    for (node, places) in &nodes {
        let of_node: Vec<&TaskRow> = places.iter().map(|&at| tasks[at]).collect();
        let (own, count) = assign_lanes(run, &of_node);
        for (&at, lane) in places.iter().zip(own) {
            lanes[at] = first + lane;
        }
        told.extend(node.map(|node| match count {
            1 => format!("{} is {node}", first + 1),
            _ => format!("{} to {} are {node}", first + 1, first + count),
        }));
        first += count;
    }
    let told = (!told.is_empty()).then(|| format!("Lanes by node: {}.", told.join(", ")));
    (lanes, first, told)
}

/// For each task a lane on which no other is at its time, and how many there are.
fn assign_lanes(run: &IndexedRun, tasks: &[&TaskRow]) -> (Vec<usize>, usize) {
    let (mut busy, mut free) = (BinaryHeap::<Reverse<(Micros, usize)>>::new(), BTreeSet::new());
    let mut count = 0;
    let lanes = tasks.iter().map(|task| {
        let (from, to) = run.task_times(task).unwrap_or_default();
        while let Some(Reverse((ended, lane))) =
            busy.peek().copied().filter(|next| next.0.0 <= from)
        {
            busy.pop();
            free.insert(lane);
            debug_assert!(ended <= from);
        }
        let lane = free.pop_first().unwrap_or_else(|| {
            count += 1;
            count - 1
        });
        // One that took no time has its lane for itself, too.
        busy.push(Reverse((to.max(Micros(from.0 + 1)), lane)));
        lane
    });
    (lanes.collect(), count)
}
