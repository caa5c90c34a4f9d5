//! Is this file a run, whole, and of a version that we know? For errors that say what is wrong.

use super::sql::sqlite_error;
use super::{APPLICATION_ID, SCHEMA_VERSION, untrusted_file};
use crate::{Error, Kind, Result};
use rusqlite::Connection;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Looks at the file before SQLite does, for a message that says what is wrong.
pub(super) fn check_file_header(path: &Path) -> Result<()> {
    let shown = path.display();
    let mut file = fs::File::open(path).map_err(|e| {
        let (kind, next) = match e.kind() {
            io::ErrorKind::NotFound => (Kind::Missing, "there is no such file"),
            _ => (Kind::Io, "check that you may read it"),
        };
        Error::new(kind, format!("cannot open run file {shown}: {next}")).with_source(e)
    })?;
    let not_a_run = |what: &str| {
        let next = "give the file that `forebay run -o FILE` wrote";
        Error::new(Kind::NotARun, format!("cannot open run file {shown}: {what}; {next}"))
    };
    let mut head = [0; 100];
    let refused = |e| {
        Error::new(Kind::Io, format!("cannot read run file {shown}: check the disk")).with_source(e)
    };
    let size = file.metadata().map_err(refused)?.len();
    match file.read_exact(&mut head) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(not_a_run(if size == 0 { "it is empty" } else { "it is no SQLite file" }));
        }
        Err(e) if e.kind() == io::ErrorKind::IsADirectory => {
            return Err(not_a_run("it is a directory"));
        }
        other => other.map_err(refused)?,
    }
    if !head.starts_with(b"SQLite format 3\0") {
        return Err(not_a_run("it is no SQLite file"));
    }
    // Bytes 16-17 and 28-31 of the SQLite header: page size (1 means 65536) and number of pages.
    let page = match u16::from_be_bytes([head[16], head[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let pages = u64::from(u32::from_be_bytes([head[28], head[29], head[30], head[31]]));
    if pages * page > size && !wal_exists(path) {
        let what = format!("it is cut short ({size} of {} bytes)", pages * page);
        let next = "copy it again, or save what is left with `sqlite3 FILE .recover`";
        return Err(Error::new(
            Kind::Damaged,
            format!("cannot open run file {shown}: {what}; {next}"),
        ));
    }
    Ok(())
}

/// Whether a file begins as a run does, and nobody writes it just now.
pub(super) fn is_run_file(path: &Path) -> bool {
    let mut head = [0; 100];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    // Bytes 68-71 of the SQLite header are the application's.
    read.is_ok()
        && head.starts_with(b"SQLite format 3\0")
        && head[68..72] == APPLICATION_ID.to_be_bytes()
        && !wal_exists(path)
}

/// Whether the file lies where nothing can be locked, as on a shared volume, and nobody writes it.
pub(super) fn is_without_locks(conn: &Connection, path: &Path) -> bool {
    let first = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    let refused = first.is_err_and(|error| {
        error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure)
    });
    refused && !wal_exists(path)
}

/// Whether there is a log beside a file, which SQLite would read, too.
pub(super) fn has_log(path: &Path) -> bool {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    wal_exists(path) || Path::new(&journal).exists()
}

fn wal_exists(path: &Path) -> bool {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    Path::new(&wal).exists()
}

/// Is it ours, and of a version that we know? Tells the version.
pub(super) fn check_schema_version(conn: &Connection, path: &Path) -> Result<i32> {
    let pragma = |name| {
        conn.pragma_query_value(None, name, |row| row.get::<_, i32>(0))
            .map_err(|e| sqlite_error(path, "open", e))
    };
    let shown = path.display();
    if pragma("application_id")? != APPLICATION_ID {
        let message = format!(
            "cannot open run file {shown}: it is an SQLite file of another program; give the file \
             that `forebay run -o FILE` wrote"
        );
        return Err(Error::new(Kind::NotARun, message));
    }
    if let Some((name, what)) =
        untrusted_file::find_odd_entry(conn).map_err(|e| sqlite_error(path, "open", e))?
    {
        let message = format!(
            "cannot open run file {shown}: `{name}` in it is a {what}, where a run has a table; give \
             the file that `forebay run -o FILE` wrote"
        );
        return Err(Error::new(Kind::NotARun, message));
    }
    let version = pragma("user_version")?;
    if version > SCHEMA_VERSION {
        let message = format!(
            "cannot open run file {shown}: a newer Forebay wrote it (format {version}, this one \
             reads up to {SCHEMA_VERSION}); update Forebay"
        );
        return Err(Error::new(Kind::NewerSchema, message));
    }
    Ok(version)
}
