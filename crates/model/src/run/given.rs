//! Tasks that are known as a whole: written as they are, and left alone when the run is folded.

use super::header::{self, key};
use super::sql::int;
use crate::GivenTask;
use rusqlite::{Connection, params};

pub(super) fn write(c: &Connection, task: &GivenTask) -> rusqlite::Result<()> {
    c.prepare_cached(
        "INSERT OR REPLACE INTO tasks
         VALUES (?1, ?2, ?3, ?4, 'task', ?5, ?6, ?7, 0, ?8, ?9, NULL, NULL, ?10)",
    )?
    .execute(params![
        task.id.0,
        task.name,
        task.engine,
        task.key,
        int(task.started.0),
        int(task.ended.0),
        task.exit_status,
        task.cpu.map(|cpu| int(cpu.0)),
        task.cpu.map(|_| 0),
        int(task.waited.0),
    ])?;
    c.prepare_cached(
        "INSERT OR REPLACE INTO processes (process, task, started_us, ended_us)
         VALUES (?1, ?1, ?2, ?3)",
    )?
    .execute(params![task.id.0, int(task.started.0), int(task.ended.0)])?;
    header::set(c, key::GIVEN, 1)
}

/// Whether this run has such tasks: there is nothing to find among its processes then.
pub(super) fn are_there(c: &Connection) -> rusqlite::Result<bool> {
    Ok(header::get_int(c, key::GIVEN)? == Some(1))
}
