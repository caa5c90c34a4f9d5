//! Tasks that are told, not recognised: of a simulated run, or by another tool's records.

use super::header;
use super::sql::{execute_cached, to_sql_int};
use crate::event::ReportedTask;
use crate::{Micros, RunOrigin};
use rusqlite::{Connection, params};

/// Are the tasks of this run told? Then there is nothing to recognise, and what was told stays.
pub(super) fn has_given_tasks(c: &Connection) -> rusqlite::Result<bool> {
    Ok(header::HeaderTable::read(c)?.origin() != RunOrigin::Measured)
}

/// Writes a task, and the process that stands for it. Told again, the latest wins.
pub(super) fn write_task(c: &Connection, task: &ReportedTask) -> rusqlite::Result<()> {
    let (id, time) = (task.process.0, |at: Option<Micros>| at.map(|at| to_sql_int(at.0)));
    execute_cached(
        c,
        "INSERT INTO processes (process, task, started_us, ended_us) VALUES (?1, ?1, ?2, ?3)
         ON CONFLICT (process) DO UPDATE SET task = excluded.task,
           started_us = excluded.started_us, ended_us = excluded.ended_us",
        params![id, time(task.started), time(task.ended)],
    )?;
    execute_cached(
        c,
        "INSERT OR REPLACE INTO tasks
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            id,
            task.name,
            task.engine,
            task.key,
            if task.driver { "driver" } else { "task" },
            time(task.started),
            time(task.ended),
            task.exit_status,
            time(task.cpu_user),
            time(task.cpu_system),
            task.rchar.map(|bytes| to_sql_int(bytes.0)),
            task.wchar.map(|bytes| to_sql_int(bytes.0)),
            time(task.waited),
            task.cores,
            task.memory.map(|bytes| to_sql_int(bytes.0)),
        ],
    )?;
    execute_cached(c, "DELETE FROM waits WHERE task = ?1", [id])?;
    for before in &task.after {
        execute_cached(c, "INSERT OR IGNORE INTO waits VALUES (?1, ?2)", params![id, before.0])?;
    }
    Ok(())
}
