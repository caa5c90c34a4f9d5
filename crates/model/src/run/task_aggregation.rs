//! The end of a run: processes become tasks, and operations become rows for people.

use super::given;
use super::header::{self, key};
use super::note_key;
use super::reader::read_processes;
use super::sql::{bytes_of_value, from_sql_int, to_sql_int};
use crate::tasks::process_claims::PersistedNote;
use crate::tasks::{EngineNoteValue, ObservedRun, OwnUsage, TaskClaims};
use crate::{CommandExit, Micros, ProcessId, RunEnd};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use std::collections::HashMap;

/// Folds a run. May be done again: what an earlier fold wrote is replaced.
pub(super) fn fold_run(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    tx.execute_batch("DELETE FROM ops; DELETE FROM not_seen;")?;
    if !given::has_given_tasks(&tx)? {
        recognise_tasks(&tx)?;
    }
    tx.execute_batch(
        "INSERT INTO ops
         SELECT p.task, o.tree, o.class, k.op, k.size_class, k.pattern,
                sum(o.count), sum(o.failed), (sum(o.time_ns) + 500) / 1000, sum(o.bytes)
         FROM process_ops o JOIN op_keys k USING (op_key) LEFT JOIN processes p USING (process)
         GROUP BY p.task, o.tree, o.class, o.op_key;
         UPDATE tasks SET waited_us = waited
         FROM (SELECT task AS waiter, sum(time_us) AS waited FROM ops GROUP BY task)
         WHERE waiter = task;",
    )?;
    if !times_are_seen(&tx)? {
        tx.execute("UPDATE tasks SET waited_us = NULL", [])?;
    }
    header::set_value(&tx, key::FOLDED, 1)?;
    tx.commit()
}

/// Whether the recorder saw how long operations took.
fn times_are_seen(c: &Connection) -> rusqlite::Result<bool> {
    let key = format!("more.{}", note_key::RECORDER.name());
    let recorder = header::get_bytes(c, &key)?;
    Ok(recorder.is_none_or(|recorder| recorder != note_key::NOTIFY.as_bytes()))
}

/// Finds the tasks among the processes.
fn recognise_tasks(c: &Connection) -> rusqlite::Result<()> {
    c.execute("DELETE FROM tasks", [])?;
    let seen = ObservedRun::new(read_processes(c)?, read_written_paths(c)?, read_notes(c)?);
    let claims = crate::tasks::assign_tasks(&seen);
    let last_seen = read_last_seen(c)?;
    write_tasks(c, &seen, &claims, &last_seen, header::load_end(c)?)?;
    for (program, count) in crate::tasks::count_unseen_programs(&seen) {
        c.execute("INSERT INTO not_seen VALUES (?1, ?2)", params![program, to_sql_int(count)])?;
    }
    Ok(())
}

/// An absolute path from a tree's and one inside it.
fn absolute_path(tree: &[u8], path: Vec<u8>) -> Vec<u8> {
    if path.starts_with(b"/") {
        return path;
    }
    [tree.strip_suffix(b"/").unwrap_or(tree), b"/", &path].concat()
}

fn read_written_paths(c: &Connection) -> rusqlite::Result<Vec<(ProcessId, Vec<u8>)>> {
    // Only engines with names in the file need it, but they are not known before.
    c.prepare(
        "SELECT DISTINCT o.process, t.path, f.path
         FROM opens o JOIN files f USING (file) JOIN trees t USING (tree)
         WHERE o.write OR o.created ORDER BY o.opened_us",
    )?
    .query_map([], |r| {
        let tree = bytes_of_value(r.get_ref(1)?).unwrap_or_default();
        let path = bytes_of_value(r.get_ref(2)?).unwrap_or_default();
        Ok((ProcessId(r.get(0)?), absolute_path(&tree, path)))
    })?
    .collect()
}

fn read_notes(c: &Connection) -> rusqlite::Result<Vec<PersistedNote>> {
    c.prepare(
        "SELECT n.engine, t.path, n.subject, n.what, n.value, n.at_us
         FROM notes n JOIN trees t USING (tree) ORDER BY n.rowid",
    )?
    .query_map([], |r| {
        let tree = bytes_of_value(r.get_ref(1)?).unwrap_or_default();
        let subject = bytes_of_value(r.get_ref(2)?).unwrap_or_default();
        let value = match r.get_ref(4)? {
            ValueRef::Integer(n) => EngineNoteValue::Number(n),
            ValueRef::Text(text) => {
                EngineNoteValue::Text(String::from_utf8_lossy(text).into_owned())
            }
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => EngineNoteValue::There,
        };
        Ok(PersistedNote {
            engine: r.get(0)?,
            subject: absolute_path(&tree, subject),
            what: r.get(3)?,
            value,
            at: Micros(from_sql_int(r.get(5)?)),
        })
    })?
    .collect()
}

/// When each process last closed (or opened) a file: a sign of life where no end was seen.
fn read_last_seen(c: &Connection) -> rusqlite::Result<HashMap<ProcessId, Micros>> {
    c.prepare("SELECT process, max(IFNULL(closed_us, opened_us)) FROM opens GROUP BY process")?
        .query_map([], |r| Ok((ProcessId(r.get(0)?), Micros(from_sql_int(r.get(1)?)))))?
        .collect()
}

/// What is added up for one task.
#[derive(Default)]
struct TaskTotals {
    started: Option<Micros>,
    ended: Option<Micros>,
    processes: u64,
    used: Option<OwnUsage>,
}

impl TaskTotals {
    fn add_process(
        &mut self,
        started: Option<Micros>,
        ended: Option<Micros>,
        used: Option<OwnUsage>,
    ) {
        let earlier = |a: Micros, b: Micros| a.min(b);
        self.started = merge_options(self.started, started, earlier);
        self.ended = self.ended.max(ended);
        self.processes += 1;
        self.used = merge_options(self.used, used, |a, b| OwnUsage {
            user_us: a.user_us + b.user_us,
            system_us: a.system_us + b.system_us,
            rchar: merge_options(a.rchar, b.rchar, |x, y| x + y),
            wchar: merge_options(a.wchar, b.wchar, |x, y| x + y),
        });
    }
}

fn merge_options<T>(a: Option<T>, b: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (a, b) => a.or(b),
    }
}

fn write_tasks(
    c: &Connection,
    seen: &ObservedRun,
    claims: &TaskClaims,
    last_seen: &HashMap<ProcessId, Micros>,
    end: Option<RunEnd>,
) -> rusqlite::Result<()> {
    let mut sums: Vec<TaskTotals> = claims.tasks.iter().map(|_| TaskTotals::default()).collect();
    let used = crate::tasks::usage_by_process(seen);
    let mut set_task = c.prepare("UPDATE processes SET task = ?2 WHERE process = ?1")?;
    for (place, row) in seen.processes.iter().enumerate() {
        let task = claims.of[place];
        set_task.execute(params![row.id.0, task.map(|t| t as i64 + 1)])?;
        if let Some(task) = task.filter(|&task| claims.tasks[task].others) {
            // How long they are there, and what they used, is not the run's.
            sums[task].processes += 1;
        } else if let Some(task) = task {
            let counted = row.counters.map(|counters| counters.at);
            let ended = row.ended.or_else(|| last_seen.get(&row.id).copied().max(counted));
            sums[task].add_process(row.started, ended, used[place]);
        }
    }
    let commands_task = seen.command_process().and_then(|command| claims.of[command]);
    let mut insert = c.prepare(
        "INSERT INTO tasks VALUES
         (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, NULL, NULL)",
    )?;
    for (place, (task, sum)) in claims.tasks.iter().zip(&sums).enumerate() {
        let of_command = end.filter(|_| Some(place) == commands_task);
        let status = of_command.and_then(|end| match end.exit? {
            CommandExit::Code(code) => Some(i64::from(code)),
            // As a shell counts it.
            CommandExit::Signal(signal) => Some(128 + i64::from(signal)),
        });
        let time = |t: Option<Micros>| t.map(|t| to_sql_int(t.0));
        insert.execute(params![
            place as i64 + 1,
            task.name,
            task.engine,
            task.key,
            match (task.others, task.driver) {
                (true, _) => "others",
                (false, true) => "driver",
                (false, false) => "task",
            },
            time(task.started.or(sum.started)),
            time(task.ended.or(of_command.map(|end| end.at)).or(sum.ended)),
            task.exit_status.or(status),
            to_sql_int(sum.processes),
            sum.used.map(|u| to_sql_int(u.user_us)),
            sum.used.map(|u| to_sql_int(u.system_us)),
            sum.used.and_then(|u| u.rchar).map(to_sql_int),
            sum.used.and_then(|u| u.wchar).map(to_sql_int),
        ])?;
    }
    Ok(())
}
