//! A connection to a run file in memory, whose bytes are replaced by those of the next run file: what
//! SQLite has parsed of the first one, its tables and all queries, serves for thousands.
//!
//! SQLite allows it, for any other process may write a file that it has open: it reads pages again
//! where the header counts another change, and parses tables again where their number is another
//! (<https://sqlite.org/fileformat2.html>, 1.3.7 and 1.3.9). A file that is not of the same kind is
//! refused here: it is opened as any.

use crate::run::Run;
use crate::run::run_file_check::{check_schema_version, has_log};
use crate::run::untrusted_file::{limit_steps, refuse_programs};
use rusqlite::{Connection, OpenFlags, ffi};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::ptr::NonNull;

/// Longer files are opened where they are: most records of jobs have a hundred kilobytes.
const ROOM: usize = 1 << 20;

/// SQLite's header: bytes that begin each file.
const HEADER_BYTES: usize = 100;

/// What a statement depends on besides the tables: size of pages, ways of writing, encoding of text,
/// number of the schema, whose file it is.
type FileKind = [u8; 40];

/// A run file in memory.
#[derive(Debug)]
pub(super) struct MemoryFile {
    run: Run,
    /// `ROOM` bytes, which SQLite frees with the connection of `run`.
    bytes: NonNull<u8>,
    /// Counts the files.
    changes: u32,
    kind: FileKind,
    schema: Vec<SchemaEntry>,
}

// SAFETY: the bytes belong to the connection, which goes to other threads, too.
unsafe impl Send for MemoryFile {}

/// A row of `sqlite_schema`: type, name, first page, definition.
type SchemaEntry = (String, String, i64, Option<String>);

impl MemoryFile {
    /// Opens a run file that is like no other. `None`: it is to be opened where it is, which also
    /// says what is wrong with it.
    pub(super) fn open(path: &Path) -> Option<MemoryFile> {
        let how = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = Connection::open_in_memory_with_flags(how).ok()?;
        refuse_programs(&conn).ok()?;
        // SAFETY: of as many bytes as are asked for; no bytes are read before they are written.
        let bytes = unsafe {
            let bytes = NonNull::new(ffi::sqlite3_malloc64(ROOM as u64).cast::<u8>())?;
            bytes.write_bytes(0, ROOM);
            bytes
        };
        let room = ROOM as i64;
        let how = ffi::SQLITE_DESERIALIZE_FREEONCLOSE | ffi::SQLITE_DESERIALIZE_READONLY;
        // SAFETY: the connection is open, the bytes are SQLite's; it frees them, also after an error.
        let given = unsafe {
            let name = c"main".as_ptr();
            ffi::sqlite3_deserialize(conn.handle(), name, bytes.as_ptr(), room, room, how)
        };
        if given != ffi::SQLITE_OK {
            return None;
        }
        let changes = 1;
        let (kind, size) = fill(bytes, path, changes)?;
        limit_steps(&mut conn, size).ok()?;
        let format = check_schema_version(&conn, path).ok()?;
        let schema = read_schema(&conn).ok()?;
        let run = Run::of_connection(conn, path, format, size);
        Some(MemoryFile { run, bytes, changes, kind, schema })
    }

    /// Puts another run file in the place of this one. `None`: it is of another kind, and this
    /// connection is of no use for it.
    pub(super) fn replace(mut self, path: &Path) -> Option<MemoryFile> {
        // While a query is under way, SQLite may read.
        if !self.run.conn.is_autocommit() {
            return None;
        }
        self.changes = self.changes.checked_add(1)?;
        let (kind, size) = fill(self.bytes, path, self.changes)?;
        self.run.name_anew(path, size);
        limit_steps(&mut self.run.conn, size).ok()?;
        let same = kind == self.kind && read_schema(&self.run.conn).ok()? == self.schema;
        same.then_some(self)
    }

    pub(super) fn run(&self) -> &Run {
        &self.run
    }
}

/// Puts a file into the bytes of a connection that is between two transactions, so that nobody else
/// looks at them, and counts one more change. Its kind, and its length in bytes; `None`: it has no
/// place here, or may be no run file.
fn fill(place: NonNull<u8>, path: &Path, changes: u32) -> Option<(FileKind, u64)> {
    let mut file = File::open(path).ok()?;
    let size = usize::try_from(file.metadata().ok()?.len()).ok()?;
    if !(HEADER_BYTES..=ROOM).contains(&size) || has_log(path) {
        return None;
    }
    // SAFETY: all of them were written, by 0 at least, and live as long as the connection.
    let bytes = unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), size) };
    file.read_exact(bytes).ok()?;
    let number =
        |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let page = match u16::from_be_bytes([bytes[16], bytes[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    // SQLite refuses pages behind those that the header counts: what lies there is of files before.
    let whole = u64::from(number(28)) * page == size as u64;
    // Bytes 18-19 tell a file with a log; 24-27 and 92-95 count changes of a file that says
    // how many pages it has.
    let plain = bytes[18..20] == [1, 1] && number(24) == number(92);
    if !bytes.starts_with(b"SQLite format 3\0") || !whole || !plain {
        return None;
    }
    for at in [24, 92] {
        bytes[at..at + 4].copy_from_slice(&changes.to_be_bytes());
    }
    let mut kind = [0; 40];
    kind[..8].copy_from_slice(&bytes[16..24]);
    kind[8..].copy_from_slice(&bytes[40..72]);
    Some((kind, size as u64))
}

fn read_schema(conn: &Connection) -> rusqlite::Result<Vec<SchemaEntry>> {
    conn.prepare_cached("SELECT type, name, rootpage, sql FROM sqlite_schema")?
        .query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?
        .collect()
}
