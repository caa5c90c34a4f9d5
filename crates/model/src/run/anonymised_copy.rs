//! Makes a copy of a run as private as its header asks, before the copy gets its name.
//!
//! Done at the end, not while writing: tasks are recognised by names and command lines that an
//! anonymous run no longer has. Until then the state file (mode 0600) holds them, secrets masked.

use super::header::{self, key};
use super::sql::{bytes_of_value, text_value, words_from_json, words_to_json};
use crate::Salt;
use crate::privacy::NameHasher;
use crate::tasks::base_name;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params};
use std::collections::BTreeSet;
use std::path::Path;

/// Seals the copy at `path`, which nobody else knows yet.
pub(super) fn seal_copy(path: &Path, salt: Option<Salt>) -> rusqlite::Result<()> {
    let mut conn = super::untrusted_file::open_untrusted(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if header::get_int(&conn, key::SEALED)? == Some(1) {
        return Ok(());
    }
    // A crash leaves an unnamed copy that is made again: no journal is needed, and none may keep
    // what is removed here.
    conn.pragma_update(None, "journal_mode", "MEMORY")?;
    conn.pragma_update(None, "secure_delete", true)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    let anonymous = header::get_int(&conn, key::ANONYMISED)? == Some(1);
    let left_out = header::get_bytes(&conn, key::COMMANDS)?.as_deref() == Some(b"left out");
    let tx = conn.transaction()?;
    if left_out {
        tx.execute("UPDATE processes SET argv = NULL", [])?;
        header::set_value(&tx, key::COMMAND, Value::Null)?;
    }
    if anonymous {
        // Without a salt of its own (never in practice) nothing may be told by a guess either.
        let names = NameHasher::new(salt.unwrap_or(Salt([0; 16])), program_names(&tx)?);
        anonymise_tables(&tx, &names)?;
    }
    header::set_value(&tx, key::SEALED, 1)?;
    tx.commit()?;
    if left_out || anonymous {
        conn.execute_batch("VACUUM")?;
    }
    Ok(())
}

/// Base names of program files in the usual places: tools, not samples.
fn program_names(c: &Connection) -> rusqlite::Result<BTreeSet<Vec<u8>>> {
    let mut statement = c.prepare("SELECT DISTINCT exe FROM processes WHERE exe NOT NULL")?;
    let mut rows = statement.query([])?;
    let mut names = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let exe = bytes_of_value(row.get_ref(0)?).unwrap_or_default();
        let mut parts = exe.rsplit(|&b| b == b'/').skip(1);
        if parts.next().is_some_and(|d| matches!(d, b"bin" | b"sbin" | b"libexec")) {
            names.insert(base_name(&exe).to_vec());
        }
    }
    Ok(names)
}

fn anonymise_tables(c: &Connection, names: &NameHasher) -> rusqlite::Result<()> {
    let path = |text: Vec<u8>| text_value(names.hash_path(&text));
    let command = |json: Vec<u8>| {
        let words = words_from_json(&String::from_utf8_lossy(&json));
        let hidden = names.hash_command(words.iter().map(Vec::as_slice));
        Value::Text(words_to_json(hidden.iter().map(Vec::as_slice)))
    };
    for (table, column) in [
        ("trees", "path"),
        ("trees", "device"),
        ("files", "path"),
        ("first_names", "path"),
        ("removals", "path"),
        ("classes", "pattern"),
        ("processes", "exe"),
        ("processes", "cwd"),
        ("tasks", "key"),
        ("notes", "subject"),
        ("notes", "value"),
    ] {
        rewrite_column(c, table, column, "", &path)?;
    }
    rewrite_column(c, "processes", "argv", "", &command)?;
    // Names of rules and Nextflow processes are code; names of scripts may be anything.
    rewrite_column(c, "tasks", "name", "WHERE engine = 'processes'", &path)?;
    anonymise_outside(c, names)?;
    for name in [key::DIRECTORY, key::HOST, key::USER] {
        if let Some(text) = header::get_bytes(c, name)? {
            header::set_value(c, name, path(text))?;
        }
    }
    if let Some(json) = header::get_bytes(c, key::COMMAND)? {
        header::set_value(c, key::COMMAND, command(json))?;
    }
    c.execute("DELETE FROM header WHERE key GLOB 'more.*'", []).map(drop)
}

/// Changes the text of one column, row by row.
fn rewrite_column(
    c: &Connection,
    table: &str,
    column: &str,
    only: &str,
    to: &dyn Fn(Vec<u8>) -> Value,
) -> rusqlite::Result<()> {
    let mut rows = Vec::new();
    let mut select = c.prepare(&format!("SELECT rowid, {column} FROM {table} {only}"))?;
    let mut found = select.query([])?;
    while let Some(row) = found.next()? {
        rows.extend(bytes_of_value(row.get_ref(1)?).map(|text| (row.get::<_, i64>(0), text)));
    }
    let mut update = c.prepare(&format!("UPDATE {table} SET {column} = ?2 WHERE rowid = ?1"))?;
    for (rowid, text) in rows {
        update.execute(params![rowid?, to(text)])?;
    }
    Ok(())
}

/// The directory is part of the key here: the table is written anew.
fn anonymise_outside(c: &Connection, names: &NameHasher) -> rusqlite::Result<()> {
    type Row = (i64, Vec<u8>, i64, i64);
    let rows: Vec<Row> = c
        .prepare("SELECT process, directory, write, bytes FROM outside")?
        .query_map([], |r| {
            Ok((r.get(0)?, bytes_of_value(r.get_ref(1)?).unwrap_or_default(), r.get(2)?, r.get(3)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    c.execute("DELETE FROM outside", [])?;
    for (process, directory, write, count) in rows {
        c.execute(
            "INSERT INTO outside VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes",
            params![process, text_value(names.hash_path(&directory)), write, count],
        )?;
    }
    Ok(())
}
