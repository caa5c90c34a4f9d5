//! The end of a run file: folded into tasks, copied out, or salvaged after a crash.

use super::header::{self, key};
use super::sql::error;
use super::{seal, trust};
use crate::{Error, Kind, Result, Salt};
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Copies a run to `dest`: complete and private before it gets its name.
pub(super) fn copy(conn: &Connection, from: &Path, dest: &Path, salt: Option<Salt>) -> Result<()> {
    // A device or a pipe is written to; a name can be given to files alone.
    let is_stream = fs::metadata(dest).is_ok_and(|found| !found.is_file() && !found.is_dir());
    let temporary = beside(if is_stream { from } else { dest });
    let done = copy_unnamed(conn, from, &temporary, dest, salt).and_then(|()| {
        let refused = |error| refused(dest, from, error);
        if is_stream {
            return pour(&temporary, dest).map_err(refused);
        }
        fs::rename(&temporary, dest).map_err(refused)?;
        let parent = dest.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::File::open(parent).and_then(|d| d.sync_all()).map_err(refused)
    });
    if done.is_err() || is_stream {
        let _ = fs::remove_file(&temporary);
    }
    done
}

fn pour(from: &Path, to: &Path) -> io::Result<()> {
    let mut to = fs::OpenOptions::new().append(true).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut to).map(|_| ())
}

fn refused(dest: &Path, from: &Path, e: io::Error) -> Error {
    let kind = match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Kind::Full
        }
        _ => Kind::Io,
    };
    let next = format!("the run is still at {}; copy it elsewhere", from.display());
    Error::new(kind, format!("cannot write run file {}: {next}", dest.display())).because(e)
}

fn copy_unnamed(
    conn: &Connection,
    from: &Path,
    temporary: &Path,
    dest: &Path,
    salt: Option<Salt>,
) -> Result<()> {
    let refused = |e| refused(dest, from, e);
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
    conn.execute("VACUUM INTO ?1", [name]).map_err(|e| error(dest, "write", e))?;
    seal::seal(temporary, salt).map_err(|e| error(dest, "write", e))?;
    file.sync_all().map_err(refused)
}

/// A path for SQLite, which passes its bytes on even when they are not UTF-8.
struct PathText<'a>(&'a [u8]);

impl rusqlite::ToSql for PathText<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::Borrowed(rusqlite::types::ValueRef::Text(self.0)))
    }
}

/// The unfinished copy's name: hidden, in the same directory, told from others by the process.
fn beside(dest: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(dest.file_name().unwrap_or_default());
    name.push(format!(".{}.unfinished", std::process::id()));
    dest.with_file_name(name)
}

/// Makes a run of a state file whose writer is gone.
pub(super) fn salvage(state: &Path, dest: &Path, salt: Salt) -> Result<()> {
    super::check::file(state)?;
    let mut conn = trust::open(state, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(|e| error(state, "salvage", e))?;
    conn.busy_timeout(std::time::Duration::from_millis(100))
        .map_err(|e| error(state, "salvage", e))?;
    // Alone or not at all: folding under a living writer would undo what it still adds.
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE")
        .map_err(|e| error(state, "salvage", e))?;
    super::check::schema(&conn, state)?;
    let folded = header::get_int(&conn, key::FOLDED).map_err(|e| error(state, "salvage", e))?;
    if folded != Some(1) {
        super::fold::fold(&mut conn).map_err(|e| error(state, "salvage", e))?;
    }
    copy(&conn, state, dest, Some(salt))
}

/// Removes a run file with its write-ahead log.
pub(super) fn remove(path: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                let message = format!("cannot remove run file {}", path.display());
                return Err(Error::new(Kind::Io, message).because(e));
            }
            _ => {}
        }
    }
    Ok(())
}
