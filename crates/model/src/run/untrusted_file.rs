//! A run file from somebody else: what may lie in the place of a table, and how long reading it may
//! take. A view, a trigger or a virtual table is a program; a tree of pages in which each leads to
//! itself is longer than any file.

use super::SCHEMA;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Steps of SQLite's machine after which it is asked whether it has gone on for too long.
const STEPS: u64 = 100_000;
/// Steps for each byte of the file. A row has ten bytes at least, and takes some ten steps wherever
/// it is looked at: all rows may be looked at a hundred times.
const STEPS_A_BYTE: u64 = 1_000;
/// Bytes that a file may have grown by since it was opened.
const GROWN: u64 = 1 << 20;
/// Bytes that a row of a table takes at least, with what leads to it.
const ROW_BYTES_MIN: u64 = 4;

/// Opens a run file: no program in it is run, and reading it ends.
pub(super) fn open_untrusted(path: &Path, how: OpenFlags) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(path, how | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    guard(conn, path)
}

/// The same for reading, on a file system without locks.
pub(super) fn open_unlocked(path: &Path) -> rusqlite::Result<Connection> {
    let how = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    guard(Connection::open_with_flags_and_vfs(path, how, c"unix-none")?, path)
}

fn guard(mut conn: Connection, path: &Path) -> rusqlite::Result<Connection> {
    refuse_programs(&conn)?;
    limit_steps(&mut conn, size_with_wal(path))?;
    Ok(conn)
}

/// No program in the file is run.
pub(super) fn refuse_programs(conn: &Connection) -> rusqlite::Result<()> {
    for (setting, value) in [
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    ] {
        conn.set_db_config(setting, value)?;
    }
    Ok(())
}

/// Reading a file of so many bytes ends.
pub(super) fn limit_steps(conn: &mut Connection, bytes: u64) -> rusqlite::Result<()> {
    let most = bytes.saturating_add(GROWN).saturating_mul(STEPS_A_BYTE) / STEPS;
    let mut asked = 0;
    let is_too_long = move || {
        asked += 1;
        asked > most
    };
    conn.progress_handler(STEPS as i32, Some(is_too_long))
}

/// What is in the place of a table and is none: its name, and what it is.
pub(super) fn find_odd_entry(conn: &Connection) -> rusqlite::Result<Option<(String, String)>> {
    let mut statement = conn.prepare("SELECT name, type, rootpage, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    // Tables that are as Forebay makes them are not looked into: many run files are opened at a time.
    let mut as_made = HashSet::new();
    while let Some(row) = rows.next()? {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        if !is_run_table(&name) {
            continue;
        }
        match (kind.as_str(), row.get::<_, Option<i64>>(2)?) {
            ("table", Some(1..)) => {}
            ("table", _) => return Ok(Some((name, "virtual table".to_owned()))),
            _ => return Ok(Some((name, kind))),
        }
        let sql: Option<String> = row.get(3)?;
        if sql.is_some_and(|sql| table_definitions().contains(&sql)) {
            as_made.insert(name);
        }
    }
    // Columns that are computed, when they are read, of anything.
    for name in table_names().filter(|name| !as_made.contains(*name)) {
        let mut columns = conn.prepare("SELECT 1 FROM pragma_table_xinfo(?1) WHERE hidden != 0")?;
        if columns.exists([name])? {
            return Ok(Some((name.to_owned(), "table with columns that are computed".to_owned())));
        }
    }
    Ok(None)
}

/// How SQLite keeps the definitions of tables that this Forebay makes.
fn table_definitions() -> &'static HashSet<String> {
    static DEFINITIONS: OnceLock<HashSet<String>> = OnceLock::new();
    DEFINITIONS.get_or_init(|| {
        let read = || -> rusqlite::Result<HashSet<String>> {
            let conn = Connection::open_in_memory()?;
            conn.execute_batch(SCHEMA)?;
            let mut tables = conn.prepare("SELECT sql FROM sqlite_schema WHERE type = 'table'")?;
            tables.query_map([], |row| row.get(0))?.collect()
        };
        // Without them all tables are looked into.
        read().unwrap_or_default()
    })
}

/// Rows that all tables of a file have room for, together.
pub(super) fn row_limit(path: &Path) -> u64 {
    row_limit_of_size(size_with_wal(path))
}

/// Rows that all tables of a file of so many bytes have room for, together.
pub(super) fn row_limit_of_size(bytes: u64) -> u64 {
    bytes.saturating_add(GROWN) / ROW_BYTES_MIN
}

fn is_run_table(name: &str) -> bool {
    table_names().any(|table| table.eq_ignore_ascii_case(name))
}

/// The tables of a run file.
fn table_names() -> impl Iterator<Item = &'static str> {
    static NAMES: OnceLock<Vec<&str>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let named = SCHEMA.lines().filter_map(|line| line.strip_prefix("CREATE TABLE "));
        named.filter_map(|rest| rest.split(' ').next()).collect()
    });
    names.iter().copied()
}

/// Bytes, with those that wait in the log beside it.
fn size_with_wal(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    bytes(path).saturating_add(bytes(&PathBuf::from(log)))
}
