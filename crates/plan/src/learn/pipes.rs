//! Programs of one pipe are one task: in `a | b | c` each goes only as fast as the others let it, and
//! a shell that has room for one job runs all three. What it is not: jobs of one name that a shell
//! started at once (`for x in *; do bwa $x & done; wait`), which have nothing to do with each other.

use super::timeline::{ROUNDED, SLACK};
use crate::loaded_run::LoadedRun;
use forebay_model::run::{ProcessRow, TaskRow};
use forebay_model::{ByteCount, Micros, ProcessId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Add;
use std::path::Path;

const SHELLS: [&str; 7] = ["ash", "bash", "busybox", "dash", "ksh", "sh", "zsh"];
/// Two that overlap by less may have run one after the other: a start is rounded, and an end is known
/// when it was noticed, on a loaded machine some milliseconds late.
const UNSURE: f64 = 3.0 * ROUNDED;
/// A longer name of many programs says no more than its beginning.
const NAME_CHARACTERS_MAX: usize = 80;

/// A shell's child that a task began with.
#[derive(Clone, Copy, Debug)]
struct PipeMember {
    task: u32,
    from: f64,
    to: f64,
    pid: Option<u32>,
}

/// Makes one task of programs that a shell started together and that ran beside each other.
pub(super) fn join_pipes(rows: &mut LoadedRun) {
    let tasks: BTreeMap<u32, &TaskRow> = rows.tasks.iter().map(|task| (task.id, task)).collect();
    let name = |task: &u32| tasks.get(task).map_or("", |task| task.name.as_str());
    let mut leaders: BTreeMap<u32, u32> = BTreeMap::new();
    let mut joined: BTreeMap<u32, TaskRow> = BTreeMap::new();
    for members in children_of_shells(rows, &tasks).into_values() {
        for pipe in group_pipes(members) {
            let names: BTreeSet<&str> = pipe.iter().map(name).collect();
            let is_new = pipe.iter().all(|task| !leaders.contains_key(task));
            if is_new && names.len() > 1 {
                leaders.extend(pipe.iter().map(|task| (*task, pipe[0])));
                joined.insert(pipe[0], merge_pipe_tasks(&pipe, &tasks));
            }
        }
    }
    rows.tasks.retain(|task| !leaders.contains_key(&task.id));
    rows.tasks.extend(joined.into_values());
    let lead = |task: &mut u32| *task = leaders.get(task).copied().unwrap_or(*task);
    rows.processes.iter_mut().filter_map(|row| row.task.as_mut()).for_each(lead);
    rows.ops.iter_mut().filter_map(|row| row.task.as_mut()).for_each(lead);
    for open in &mut rows.opens {
        open.task.iter_mut().chain(&mut open.program).for_each(lead);
    }
    for (task, before) in &mut rows.waits {
        lead(task);
        lead(before);
    }
}

/// For each shell the tasks that began with its children, in the order of their start.
fn children_of_shells(
    rows: &LoadedRun,
    tasks: &BTreeMap<u32, &TaskRow>,
) -> BTreeMap<ProcessId, Vec<PipeMember>> {
    let is_shell = |row: &&ProcessRow| {
        let exe = row.exe.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        let name = Path::new(&*exe).file_name().and_then(|name| name.to_str());
        let starts_tasks =
            row.task.and_then(|task| tasks.get(&task)).is_none_or(|task| task.driver);
        starts_tasks && name.is_some_and(|name| SHELLS.contains(&name))
    };
    let shells: BTreeSet<ProcessId> =
        rows.processes.iter().filter(is_shell).map(|row| row.id).collect();
    let mut children: BTreeMap<ProcessId, BTreeMap<u32, PipeMember>> = BTreeMap::new();
    for row in &rows.processes {
        let Some(parent) = row.parent.filter(|parent| shells.contains(parent)) else { continue };
        let task = row.task.and_then(|task| tasks.get(&task));
        let Some(task) = task.filter(|task| !task.driver && task.engine == "processes") else {
            continue;
        };
        let (Some(from), Some(to)) = (task.started, task.ended) else { continue };
        let (from, to) = (from.as_secs(), to.as_secs());
        let member = PipeMember { task: task.id, from, to, pid: row.pid };
        children.entry(parent).or_default().entry(task.id).or_insert(member);
    }
    let sorted = |(shell, members): (ProcessId, BTreeMap<u32, PipeMember>)| {
        let mut members: Vec<PipeMember> = members.into_values().collect();
        members.sort_by(|a, b| a.from.total_cmp(&b.from).then(a.pid.cmp(&b.pid)));
        (shell, members)
    };
    children.into_iter().map(sorted).collect()
}

/// Those that began within moments of each other, the later ones while the earlier ones ran for sure;
/// in the order in which the shell forked them.
fn group_pipes(members: Vec<PipeMember>) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<PipeMember>> = Vec::new();
    for member in members {
        match all.last_mut() {
            Some(pipe)
                if member.from - pipe[0].from < SLACK
                    && pipe.iter().all(|other| other.to.min(member.to) > member.from + UNSURE) =>
            {
                pipe.push(member);
            }
            _ => all.push(vec![member]),
        }
    }
    let in_order = |mut pipe: Vec<PipeMember>| {
        pipe.sort_by_key(|member| (member.pid, member.task));
        pipe.into_iter().map(|member| member.task).collect()
    };
    all.into_iter().filter(|pipe| pipe.len() > 1).map(in_order).collect()
}

/// All of them as one, under the number of the first.
fn merge_pipe_tasks(pipe: &[u32], tasks: &BTreeMap<u32, &TaskRow>) -> TaskRow {
    let rows: Vec<&TaskRow> = pipe.iter().filter_map(|task| tasks.get(task)).copied().collect();
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    // Of what nobody saw of one of them, that of the others is a part.
    let time =
        |of: fn(&TaskRow) -> Option<Micros>| rows.iter().filter_map(|row| of(row)).reduce(Add::add);
    let bytes = |of: fn(&TaskRow) -> Option<ByteCount>| {
        rows.iter().filter_map(|row| of(row)).reduce(Add::add)
    };
    let failed = rows.iter().filter_map(|row| row.exit_status).find(|status| *status != 0);
    TaskRow {
        name: names.join(" | ").chars().take(NAME_CHARACTERS_MAX).collect(),
        started: rows.iter().filter_map(|row| row.started).min(),
        ended: rows.iter().filter_map(|row| row.ended).max(),
        exit_status: failed.or(rows[0].exit_status),
        processes: rows.iter().map(|row| row.processes).sum(),
        cpu_user: time(|row| row.cpu_user),
        cpu_system: time(|row| row.cpu_system),
        rchar_upper: bytes(|row| row.rchar_upper),
        wchar_upper: bytes(|row| row.wchar_upper),
        waited: time(|row| row.waited),
        memory: bytes(|row| row.memory),
        cpu_wait: time(|row| row.cpu_wait),
        memory_peak: bytes(|row| row.memory_peak),
        ..rows[0].clone()
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a pipe takes the slots of three tasks, or jobs that a user set off at once take one.
    use super::super::tests::{secs, task};
    use super::*;

    /// A shell of two programs with these names and times.
    fn joined(programs: [(&str, f64, f64); 2]) -> Vec<(u32, String)> {
        let mut rows = LoadedRun::default();
        rows.tasks.push(TaskRow { driver: true, ..task(0, "sh", 0.0, 9.0) });
        let exe = Some(b"/bin/bash".to_vec());
        rows.processes.push(ProcessRow { task: Some(0), exe, ..ProcessRow::default() });
        for (at, (name, from, to)) in (1..).zip(programs) {
            rows.tasks.push(TaskRow { cpu_user: Some(secs(1.0)), ..task(at, name, from, to) });
            rows.processes.push(ProcessRow {
                id: ProcessId(at),
                parent: Some(ProcessId(0)),
                pid: Some(100 - at),
                task: Some(at),
                ..ProcessRow::default()
            });
        }
        join_pipes(&mut rows);
        let known: BTreeSet<u32> = rows.tasks.iter().map(|task| task.id).collect();
        assert!(
            rows.processes.iter().all(|row| row.task.is_some_and(|task| known.contains(&task)))
        );
        rows.tasks.into_iter().skip(1).map(|task| (task.id, task.name)).collect()
    }

    #[test]
    fn programs_that_began_and_ran_together_are_one_task_in_the_order_of_their_forks() {
        let pipe = joined([("sort", 1.0, 3.0), ("grep", 1.01, 2.5)]);
        assert_eq!(pipe, [(2, "grep | sort".to_owned())]);
    }

    #[test]
    fn others_stay_apart() {
        for apart in [
            [("bwa", 1.0, 3.0), ("bwa", 1.0, 3.1)],
            [("sort", 1.0, 3.0), ("uniq", 1.2, 3.0)],
            [("mkdir", 1.0, 1.004), ("sort", 1.0, 3.0)],
            // The first one's end was noticed when the second one had begun.
            [("dd", 1.0, 1.025), ("cksum", 1.0, 3.0)],
        ] {
            assert_eq!(joined(apart).len(), 2, "{apart:?}");
        }
    }
}
