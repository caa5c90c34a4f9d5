//! The end of a run file: folded into tasks, copied out, or salvaged after a crash.

use super::header::{self, key};
use super::sql::sqlite_error;
use super::{Run, anonymised_copy, untrusted_file};
use crate::{Error, Kind, Result, Salt};
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Copies a run to a path, which messages show as another: complete and private before it gets its
/// name.
pub(super) fn copy_run(
    conn: &Connection,
    from: &Path,
    dest: (&Path, &Path),
    salt: Option<Salt>,
) -> Result<()> {
    let temporary = temporary_path(dest.0);
    let done = copy_to_temporary(conn, from, &temporary, dest, salt);
    if done.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    done
}

fn copy_to_temporary(
    conn: &Connection,
    from: &Path,
    temporary: &Path,
    (dest, shown): (&Path, &Path),
    salt: Option<Salt>,
) -> Result<()> {
    let refused = |e: io::Error| {
        let kind = match e.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Kind::Full,
            _ => Kind::Io,
        };
        let next = format!("the run is still at {}; copy it elsewhere", from.display());
        Error::new(kind, format!("cannot write run file {}: {next}", shown.display()))
            .with_source(e)
    };
    // The file is made here, not by SQLite, so that it is never readable by others.
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::OpenOptionsExt;
    // Nor through a link that somebody put there.
    let _ = fs::remove_file(temporary);
    let file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temporary)
        .map_err(refused)?;
    let name = PathText(temporary.as_os_str().as_bytes());
    conn.execute("VACUUM INTO ?1", [name]).map_err(|e| sqlite_error(shown, "write", e))?;
    anonymised_copy::seal_copy(temporary, salt).map_err(|e| sqlite_error(shown, "write", e))?;
    file.sync_all().map_err(refused)?;
    fs::rename(temporary, dest).map_err(refused)?;
    let parent = dest.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(parent).and_then(|d| d.sync_all()).map_err(refused)
}

/// A path for SQLite, which passes its bytes on even when they are not UTF-8.
struct PathText<'a>(&'a [u8]);

impl rusqlite::ToSql for PathText<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::Borrowed(rusqlite::types::ValueRef::Text(self.0)))
    }
}

/// The unfinished copy's name: hidden, in the same directory, told from others by the process.
fn temporary_path(dest: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(dest.file_name().unwrap_or_default());
    name.push(format!(".{}.unfinished", std::process::id()));
    dest.with_file_name(name)
}

impl Run {
    /// Makes a readable run of a state file whose writer was killed: recomputes the tasks from what
    /// is there and copies it to `dest`. The copy says `complete = 0` unless the end was written.
    /// `salt` is used if the run is to be anonymous; any random one will do.
    ///
    /// # Errors
    /// As [`open`](Run::open), and [`Kind::Full`]; [`Kind::Busy`] while the writer lives.
    pub fn salvage_run(state: &Path, dest: &Path, salt: Salt) -> Result<()> {
        super::run_file_check::check_file_header(state)?;
        let mut conn = untrusted_file::open_untrusted(state, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|e| sqlite_error(state, "salvage", e))?;
        conn.busy_timeout(std::time::Duration::from_millis(100))
            .map_err(|e| sqlite_error(state, "salvage", e))?;
        // Alone or not at all: folding under a living writer would undo what it still adds.
        conn.pragma_update(None, "locking_mode", "EXCLUSIVE")
            .map_err(|e| sqlite_error(state, "salvage", e))?;
        super::run_file_check::check_schema_version(&conn, state)?;
        let folded =
            header::get_int(&conn, key::FOLDED).map_err(|e| sqlite_error(state, "salvage", e))?;
        if folded != Some(1) {
            super::task_aggregation::fold_run(&mut conn)
                .map_err(|e| sqlite_error(state, "salvage", e))?;
        }
        copy_run(&conn, state, (dest, dest), Some(salt))
    }
}

/// Removes a run file with its write-ahead log.
pub(super) fn remove_run_file(path: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                let message = format!("cannot remove run file {}", path.display());
                return Err(Error::new(Kind::Io, message).with_source(e));
            }
            _ => {}
        }
    }
    Ok(())
}
