//! The engine of no engine: tasks by the process tree alone.
//!
//! The command is a driver, unless it is all there is, and so are the shells, engines and wrappers
//! below it, and forks of the command that start programs, as engines that are libraries of Python have
//! them; the topmost other process is a task, with all that it starts. Drivers of one name are
//! one row: what they do themselves is small, and rarely of interest one by one. What no part of
//! the run started is no task, and one row, too, unless an engine claimed it before.

use super::process_claims::{ClaimedTask, ObservedRun, TaskClaims};
use super::program::{is_driver, process_name};
use super::{EngineAdapter, EngineNote};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const NAME: &str = "processes";

/// What looks into the files of a run from elsewhere.
pub const OTHERS: &str = "others on this machine";

pub(super) const ENGINE: EngineAdapter =
    EngineAdapter { name: NAME, wanted: |_| false, read: no_notes, claim: claim_processes };

fn no_notes(_: &[u8], _: &[u8]) -> Vec<EngineNote> {
    Vec::new()
}

fn claim_processes(seen: &ObservedRun, claims: &mut TaskClaims) {
    let command = seen.command_process();
    let forks = driving_forks(seen);
    let mut drivers: BTreeMap<String, usize> = BTreeMap::new();
    let mut others = None;
    for &process in seen.order() {
        if claims.of[process].is_some() {
            continue;
        }
        if seen.is_stranger(process) {
            let task = *others.get_or_insert_with(|| {
                let name = OTHERS.to_owned();
                claims.add_task(ClaimedTask {
                    name,
                    engine: NAME,
                    others: true,
                    ..ClaimedTask::default()
                })
            });
            claims.of[process] = Some(task);
            continue;
        }
        let parents_task = seen.parent(process).and_then(|parent| claims.of[parent]);
        if let Some(task) = parents_task.filter(|&task| !claims.tasks[task].driver) {
            claims.of[process] = Some(task);
            continue;
        }
        let row = &seen.processes[process];
        if row.argv.is_empty() && row.exe.is_none() && parents_task.is_some() {
            // Gone before anybody could look: its parent between fork and exec, mostly.
            claims.of[process] = parents_task;
            continue;
        }
        let name = process_name(row);
        let drives = Some(process) == command || is_driver(row) || forks.contains(&process);
        let task = if drives {
            *drivers.entry(name).or_insert_with_key(|name| {
                claims.tasks.push(ClaimedTask {
                    name: name.clone(),
                    engine: NAME,
                    driver: true,
                    ..ClaimedTask::default()
                });
                claims.tasks.len() - 1
            })
        } else {
            claims.add_task(ClaimedTask { name, engine: NAME, ..ClaimedTask::default() })
        };
        claims.of[process] = Some(task);
    }
    promote_lone_command(seen, claims);
}

/// Forks of the command, and theirs, that start other programs.
fn driving_forks(seen: &ObservedRun) -> BTreeSet<usize> {
    let Some(command) = seen.command_process() else { return BTreeSet::new() };
    let words = |process: usize| &seen.processes[process].argv;
    let is_fork = |process: usize| {
        process != command && !words(process).is_empty() && words(process) == words(command)
    };
    let mut forks = BTreeSet::new();
    for process in (0..seen.processes.len()).filter(|&process| !words(process).is_empty()) {
        if is_fork(process) {
            continue;
        }
        let above: Vec<usize> =
            seen.self_and_ancestors(process).skip(1).take_while(|&above| is_fork(above)).collect();
        let is_commands = above.last().is_some_and(|&last| seen.parent(last) == Some(command));
        if is_commands {
            forks.extend(above);
        }
    }
    forks
}

/// A command that starts no task does the work itself.
fn promote_lone_command(seen: &ObservedRun, claims: &mut TaskClaims) {
    let Some(command) =
        seen.command_process().filter(|&command| !is_driver(&seen.processes[command]))
    else {
        return;
    };
    if let (Some(task), true) =
        (claims.of[command], claims.tasks.iter().all(|task| task.driver || task.others))
    {
        claims.tasks[task].driver = false;
    }
}
