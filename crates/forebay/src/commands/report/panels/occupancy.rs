//! Who was at work when: one line for each task.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use forebay_model::Micros;
use forebay_model::run::TaskRow;
use serde_json::{Value, json};

use super::{Draws, Panel};
use crate::commands::report::bins::Spread;
use crate::commands::report::prices::Sheet;
use crate::commands::report::seen::{Pair, Seen};
use crate::commands::report::strings::Strings;
use crate::commands::report::table::{column, missing};
use crate::commands::report::text::command;

pub(super) const PANEL: Panel = Panel { name: "occupancy", draws: Draws::Run(of) };

/// Tasks name so many of their files, and all tasks together about so many.
const FILES_EACH: usize = 3;
const FILES_ALL: usize = 75_000;

fn of(run: &Seen, strings: &mut Strings, _: Option<&Sheet>) -> Value {
    let mut timed: Vec<&TaskRow> = run.tasks.iter().filter(|task| task.started.is_some()).collect();
    if timed.is_empty() {
        return missing(match run.tasks.is_empty() {
            true => "No task was seen in this run.",
            false => "Nobody told when the tasks of this run began.",
        });
    }
    timed.sort_by_key(|task| (task.started, task.id));
    let (drivers, tasks): (Vec<&TaskRow>, Vec<&TaskRow>) =
        timed.into_iter().partition(|task| task.driver);
    let (lanes, count) = lanes(run, &tasks);
    let mut notes = vec![
        "A task is on the lowest lane that was free when it began: lanes are no cores.".to_owned(),
    ];
    let untimed = run.tasks.iter().filter(|task| task.started.is_none()).count();
    if untimed > 0 {
        notes.push(format!("{untimed} tasks are not shown: nobody told when they began."));
    }
    let (mut running, mut waiting) = (Spread::new(run.bins), Spread::new(run.bins));
    for task in &tasks {
        let (from, to) = run.times(task).unwrap_or_default();
        running.add(from, to, to.since(from).0 as f64);
        waiting.add(from, to, task.waited.unwrap_or_default().0.min(to.since(from).0) as f64);
    }
    let waits_known = tasks.iter().any(|task| task.waited.is_some());
    json!({
        "wall_us": run.span,
        "lanes": count,
        "lane_of": "lanes",
        "cpus": run.header.cpus,
        "files": files(run, &tasks, strings),
        "tasks": rows(run, &tasks, &lanes, strings),
        "drivers": rows(run, &drivers, &self::lanes(run, &drivers).0, strings),
        "busy": {
            "bin_us": run.bins.us,
            "running": running.at_once(),
            "waiting": if waits_known { waiting.at_once() } else { Value::Null },
        },
        "notes": notes,
    })
}

fn rows(run: &Seen, tasks: &[&TaskRow], lanes: &[usize], strings: &mut Strings) -> Value {
    // Of tasks whose operations nobody recorded no bytes were seen.
    let bytes = |task: &TaskRow, hidden: fn(&Pair) -> bool, bytes: fn(&Pair) -> u64| {
        let pairs = run.opened.of_task(task.id);
        let seen = task.waited.is_some() && !pairs.iter().any(|(_, pair)| hidden(pair));
        seen.then(|| pairs.iter().map(|(_, pair)| bytes(pair)).sum::<u64>())
    };
    let cpu = |task: &TaskRow| {
        let known = task.cpu_user.or(task.cpu_system);
        known.map(|_| task.cpu_user.unwrap_or_default() + task.cpu_system.unwrap_or_default())
    };
    let times = |task: &TaskRow| run.times(task).unwrap_or_default();
    json!({
        "n": tasks.len(),
        "name": column(tasks.iter().map(|task| run.name(Some(task.id)))),
        "lane": column(lanes),
        "start_us": column(tasks.iter().map(|task| times(task).0)),
        "end_us": column(tasks.iter().map(|task| times(task).1)),
        "open_end": column(tasks.iter().map(|task| u8::from(task.ended.is_none()))),
        "exit": column(tasks.iter().map(|task| task.exit_status)),
        "waited_us": column(tasks.iter().map(|task| task.waited)),
        "cpu_us": column(tasks.iter().map(|task| cpu(task))),
        "read_bytes": column(tasks.iter().map(|task| bytes(task, |p| p.read_hidden, |p| p.read))),
        "written_bytes":
            column(tasks.iter().map(|task| bytes(task, |p| p.write_hidden, |p| p.written))),
        "cores": column(tasks.iter().map(|task| task.cores)),
        "key": column(tasks.iter().map(|task| {
            strings.maybe(task.key.as_ref().map(|key| key.as_bytes()))
        })),
        "command": column(tasks.iter().map(|task| {
            run.commands.get(&task.id).map_or(-1, |words| strings.own(&command(words)))
        })),
    })
}

/// For each task a lane on which no other is at its time, and how many there are.
fn lanes(run: &Seen, tasks: &[&TaskRow]) -> (Vec<usize>, usize) {
    let (mut busy, mut free) = (BinaryHeap::<Reverse<(Micros, usize)>>::new(), BTreeSet::new());
    let mut count = 0;
    let lanes = tasks.iter().map(|task| {
        let (from, to) = run.times(task).unwrap_or_default();
        while let Some(Reverse((ended, lane))) = busy.peek().copied().filter(|next| next.0.0 <= from)
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

/// Of each task the files with most bytes.
fn files(run: &Seen, tasks: &[&TaskRow], strings: &mut Strings) -> Value {
    let each = (FILES_ALL / tasks.len().max(1)).clamp(1, FILES_EACH);
    let (mut at, mut kept) = (vec![0], Vec::new());
    for task in tasks {
        let pairs = run.opened.of_task(task.id).iter();
        let mut of_task: Vec<_> = pairs.map(|((_, file), pair)| (*file, *pair)).collect();
        of_task.sort_by_key(|(file, pair)| (Reverse(pair.read + pair.written), *file));
        kept.extend(of_task.into_iter().take(each));
        at.push(kept.len());
    }
    let path = |strings: &mut Strings, file| {
        run.file(file).map_or(-1, |file| strings.name(&file.path))
    };
    json!({
        "at": at,
        "path": column(kept.iter().map(|(file, _)| path(strings, *file))),
        "read_bytes":
            column(kept.iter().map(|(_, pair)| (!pair.read_hidden).then_some(pair.read))),
        "written_bytes":
            column(kept.iter().map(|(_, pair)| (!pair.write_hidden).then_some(pair.written))),
    })
}
