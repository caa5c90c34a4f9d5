//! Reads a run file: typed rows, clear errors.

use super::header::{self, Header, HeaderTable, key};
use super::sql::{bytes_of_value, from_sql_int, sqlite_error, words_from_json};
use super::{run_file_check, untrusted_file};
#[cfg(doc)]
use crate::Kind;
use crate::event::*;
use crate::run_rows::{IoWait, OpKind, OpRow, OpenRow, ProcessRow, TaskRow, UnrelatedProcesses};
use crate::{ByteCount, Error, Micros, Result};
use rusqlite::{Connection, OpenFlags, Row};
use std::path::{Path, PathBuf};

/// A run file, open for reading. A run that is still being written can be read too.
#[derive(Debug)]
pub struct Run {
    pub(super) conn: Connection,
    path: PathBuf,
    /// `PRAGMA user_version` of the file.
    format: i32,
    /// Rows that a table may have, if the file does not grow.
    row_limit: Option<u64>,
}

/// Not of others; what is nobody's is the run's.
const OWN: &str = "NOT IN (SELECT task FROM tasks WHERE kind = 'others')";

impl Run {
    /// Opens a run file for reading.
    ///
    /// # Errors
    /// [`Kind::Missing`], [`Kind::NotARun`], [`Kind::NewerSchema`], [`Kind::Damaged`] (cut short or
    /// corrupt), [`Kind::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        run_file_check::check_file_header(path)?;
        let conn = untrusted_file::open_untrusted(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(|e| sqlite_error(path, "open", e))?;
        let conn = match run_file_check::is_without_locks(&conn, path) {
            true => {
                untrusted_file::open_unlocked(path).map_err(|e| sqlite_error(path, "open", e))?
            }
            false => conn,
        };
        let format = run_file_check::check_schema_version(&conn, path)?;
        Ok(Self { conn, path: path.to_owned(), format, row_limit: None })
    }

    /// A run file of so many bytes that is open and looked at already, and does not grow.
    pub(super) fn of_connection(conn: Connection, path: &Path, format: i32, bytes: u64) -> Self {
        let row_limit = Some(untrusted_file::row_limit_of_size(bytes));
        Self { conn, path: path.to_owned(), format, row_limit }
    }

    /// The connection shows another file of the same kind.
    pub(super) fn name_anew(&mut self, path: &Path, bytes: u64) {
        path.clone_into(&mut self.path);
        self.row_limit = Some(untrusted_file::row_limit_of_size(bytes));
    }

    /// Rows that all its tables have room for, together.
    pub(super) fn row_limit(&self) -> u64 {
        self.row_limit.unwrap_or_else(|| untrusted_file::row_limit(&self.path))
    }

    /// Whether a file is a run, by its first bytes, and nobody writes it just now: what may be
    /// replaced by another.
    pub fn is_run_file(path: &Path) -> bool {
        run_file_check::is_run_file(path)
    }

    /// A column that files of an older format lack, where it is NULL.
    pub(super) fn column_or_null(&self, format: i32, column: &'static str) -> &'static str {
        if self.format < format { "NULL" } else { column }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What ran. Of `privacy` only the default is told.
    ///
    /// # Errors
    /// [`Kind::Damaged`], [`Kind::Io`], as for every accessor below.
    pub fn header(&self) -> Result<Header> {
        self.header_table().map(|table| Header::of_table(&table))
    }

    /// How the command ended; `None` if the writer was stopped before.
    pub fn ended(&self) -> Result<Option<RunEnd>> {
        self.header_table().map(|table| table.end())
    }

    /// All that the header says.
    pub(super) fn header_table(&self) -> Result<HeaderTable> {
        HeaderTable::read(&self.conn).map_err(|e| self.read_error(e))
    }

    /// Nothing is missing: the end was written and no fact was dropped.
    pub fn is_complete(&self) -> Result<bool> {
        let complete =
            header::get_int(&self.conn, key::COMPLETE).map_err(|e| self.read_error(e))?;
        Ok(complete == Some(1))
    }

    /// Covered trees.
    pub fn trees(&self) -> Result<Vec<DirectoryTree>> {
        let tier = self.column_or_null(2, "tier");
        let query = format!(
            "SELECT tree, path, fs_type, passthrough, device, {tier} FROM trees ORDER BY 1"
        );
        self.query_rows(&query, |r| {
            Ok(DirectoryTree {
                id: TreeId(r.get(0)?),
                path: bytes_of_value(r.get_ref(1)?).unwrap_or_default(),
                fs_type: r.get(2)?,
                passthrough: r.get(3)?,
                device: r.get(4)?,
                tier: r.get(5)?,
            })
        })
    }

    /// What others on the machine did to the files of the run; `None`: nothing. Their opens and
    /// operations are in no other answer.
    pub fn use_by_others(&self) -> Result<Option<UnrelatedProcesses>> {
        let found = self.query_rows(
            "SELECT processes, IFNULL(waited_us, 0),
                    (SELECT sum(count) FROM ops o WHERE o.task = t.task),
                    (SELECT sum(bytes) FROM ops o WHERE o.task = t.task AND op = 'read'),
                    (SELECT sum(bytes) FROM ops o WHERE o.task = t.task AND op = 'write')
             FROM tasks t WHERE kind = 'others'",
            |r| {
                Ok(UnrelatedProcesses {
                    processes: number_at(r, 0)?.unwrap_or(0),
                    waited: micros_at(r, 1)?.unwrap_or_default(),
                    operations: number_at(r, 2)?.unwrap_or(0),
                    read: bytes_at(r, 3)?.unwrap_or_default(),
                    written: bytes_at(r, 4)?.unwrap_or_default(),
                })
            },
        )?;
        Ok(found.first().copied())
    }

    /// Tasks, by number.
    pub fn tasks(&self) -> Result<Vec<TaskRow>> {
        let (cores, memory) =
            (self.column_or_null(4, "cores"), self.column_or_null(4, "memory_bytes"));
        let usage =
            self.conn.table_exists(None, "process_usage").map_err(|e| self.read_error(e))?;
        let usage = match usage {
            true => {
                "SELECT p.task AS of, sum(cpu_wait_us) AS wait, max(memory_peak_bytes) AS peak
                 FROM process_usage JOIN processes p USING (process) GROUP BY p.task"
            }
            false => "SELECT NULL AS of, NULL AS wait, NULL AS peak",
        };
        let joined = self.conn.table_exists(None, "nodes").map_err(|e| self.read_error(e))?;
        // Where most of its processes were: one may have handed it over elsewhere.
        let nodes = match joined {
            true => {
                "SELECT on_task, node, max(many) FROM (
                   SELECT p.task AS on_task, n.name AS node, count(*) * 1000000 + n.node AS many
                   FROM processes p JOIN process_nodes USING (process) JOIN nodes n USING (node)
                   GROUP BY p.task, n.node)
                 GROUP BY on_task"
            }
            false => "SELECT NULL AS on_task, NULL AS node",
        };
        self.query_rows(
            &format!(
                "SELECT task, name, engine, key, kind, started_us, ended_us, exit_status, processes,
                        cpu_user_us, cpu_system_us, rchar_upper, wchar_upper, waited_us,
                        {cores}, {memory}, u.wait, u.peak, d.node
                 FROM tasks LEFT JOIN ({usage}) u ON u.of = task
                   LEFT JOIN ({nodes}) d ON d.on_task = task
                 WHERE kind != 'others' ORDER BY task"
            ),
            |r| {
                Ok(TaskRow {
                    id: r.get(0)?,
                    name: r.get(1)?,
                    engine: r.get(2)?,
                    key: r.get(3)?,
                    driver: r.get::<_, String>(4)? == "driver",
                    started: micros_at(r, 5)?,
                    ended: micros_at(r, 6)?,
                    exit_status: r.get(7)?,
                    processes: number_at(r, 8)?.unwrap_or(0),
                    cpu_user: micros_at(r, 9)?,
                    cpu_system: micros_at(r, 10)?,
                    rchar_upper: bytes_at(r, 11)?,
                    wchar_upper: bytes_at(r, 12)?,
                    waited: micros_at(r, 13)?,
                    cores: r.get(14)?,
                    memory: bytes_at(r, 15)?,
                    cpu_wait: micros_at(r, 16)?,
                    memory_peak: bytes_at(r, 17)?,
                    node: r.get(18)?,
                })
            },
        )
    }

    /// What waited for what where it is told: a task, and one that had to be done before.
    pub fn task_dependencies(&self) -> Result<Vec<(u32, u32)>> {
        if self.format < 4 {
            return Ok(Vec::new());
        }
        self.query_rows("SELECT task, after FROM waits ORDER BY task, after", |r| {
            Ok((r.get(0)?, r.get(1)?))
        })
    }

    /// When the last name of a file was removed, by the file's number.
    pub fn removal_times(&self) -> Result<Vec<(FileId, Micros)>> {
        let gone = self.column_or_null(4, "gone_us");
        let query = format!("SELECT file, {gone} FROM files WHERE {gone} NOT NULL ORDER BY file");
        self.query_rows(&query, |r| Ok((FileId(r.get(0)?), micros_at(r, 1)?.unwrap_or_default())))
    }

    /// Processes, by number.
    pub fn processes(&self) -> Result<Vec<ProcessRow>> {
        let own = format!("WHERE IFNULL(task, 0) {OWN}");
        let query = processes_query(&self.conn, &own).map_err(|e| self.read_error(e))?;
        self.query_rows(&query, process_row)
    }

    /// Classes of file names, by number.
    pub fn classes(&self) -> Result<Vec<(ClassId, String)>> {
        self.query_rows("SELECT class, pattern FROM classes ORDER BY class", |r| {
            let pattern = bytes_of_value(r.get_ref(1)?).unwrap_or_default();
            Ok((ClassId(r.get(0)?), String::from_utf8_lossy(&pattern).into_owned()))
        })
    }

    /// Files, by number.
    pub fn files(&self) -> Result<Vec<FileRecord>> {
        let home = self.column_or_null(2, "home");
        let query = format!("SELECT file, tree, path, class, {home} FROM files ORDER BY file");
        self.query_rows(&query, |r| {
            Ok(FileRecord {
                id: FileId(r.get(0)?),
                tree: TreeId(r.get(1)?),
                path: bytes_of_value(r.get_ref(2)?).unwrap_or_default(),
                class: ClassId(r.get(3)?),
                home: r.get::<_, Option<u16>>(4)?.map(TreeId),
            })
        })
    }

    /// Files that were renamed: each by the path and the class that it had first, by number. `path`
    /// of [`files`](Run::files) is the last one.
    pub fn first_names(&self) -> Result<Vec<FileRecord>> {
        if !self.conn.table_exists(None, "first_names").map_err(|e| self.read_error(e))? {
            return Ok(Vec::new());
        }
        let query = "SELECT f.file, f.tree, n.path, n.class
                     FROM first_names n JOIN files f USING (file) ORDER BY f.file";
        self.query_rows(query, |r| {
            Ok(FileRecord {
                id: FileId(r.get(0)?),
                tree: TreeId(r.get(1)?),
                path: bytes_of_value(r.get_ref(2)?).unwrap_or_default(),
                class: ClassId(r.get(3)?),
                home: None,
            })
        })
    }

    /// Calls `each` for every open file in the order of closing, without holding them all.
    pub fn for_each_open(&self, mut each: impl FnMut(OpenRow)) -> Result<()> {
        let mut visit = || -> rusqlite::Result<()> {
            let copy = self.column_or_null(3, "o.copy");
            let mut statement = self.conn.prepare(&format!(
                "SELECT p.task, o.process, o.file, o.write, o.created, o.opened_us, o.closed_us,
                        o.read_bytes, o.read_calls, o.written_bytes, o.written_calls,
                        o.size_at_open, o.size_at_close, o.hidden, {copy}
                 FROM opens o LEFT JOIN processes p USING (process)
                 WHERE IFNULL(p.task, 0) {OWN} ORDER BY o.rowid"
            ))?;
            let (mut rows, mut left) = (statement.query([])?, self.row_limit());
            while let Some(r) = rows.next()? {
                left = left.checked_sub(1).ok_or_else(Self::endless_rows_error)?;
                each(open_row(r)?);
            }
            Ok(())
        };
        visit().map_err(|e| self.read_error(e))
    }

    /// Operations by task and class of files.
    pub fn operation_rows(&self) -> Result<Vec<OpRow>> {
        self.query_rows(
            &format!(
                "SELECT task, tree, class, op, size_class, pattern, count, failed, time_us, bytes
                 FROM ops WHERE IFNULL(task, 0) {OWN}"
            ),
            |r| {
                Ok(OpRow {
                    task: r.get(0)?,
                    tree: TreeId(r.get(1)?),
                    class: ClassId(r.get(2)?),
                    kind: OpKind::from_names(r.get(3)?, r.get(4)?, r.get(5)?),
                    count: number_at(r, 6)?.unwrap_or(0),
                    failed: number_at(r, 7)?.unwrap_or(0),
                    time: micros_at(r, 8)?.unwrap_or_default(),
                    bytes: bytes_at(r, 9)?.unwrap_or_default(),
                })
            },
        )
    }

    /// What each process waited for, by process. The kernel tells of a last close, and nobody waits.
    pub fn io_wait_by_process(&self) -> Result<Vec<(ProcessId, IoWait)>> {
        let query = format!(
            "SELECT process, sum(time_ns), sum(count * (op <> 'close'))
             FROM process_ops JOIN op_keys USING (op_key) JOIN processes p USING (process)
             WHERE IFNULL(p.task, 0) {OWN} GROUP BY process"
        );
        self.query_rows(&query, |r| {
            let waited = IoWait {
                nanos: number_at(r, 1)?.unwrap_or(0),
                requests: number_at(r, 2)?.unwrap_or(0),
            };
            Ok((ProcessId(r.get(0)?), waited))
        })
    }

    /// Files seen open outside the covered trees.
    pub fn outside_files(&self) -> Result<Vec<OutsideFile>> {
        let query = format!(
            "SELECT o.process, directory, bytes, write
             FROM outside o LEFT JOIN processes p USING (process) WHERE IFNULL(p.task, 0) {OWN}"
        );
        self.query_rows(&query, |r| {
            Ok(OutsideFile {
                process: ProcessId(r.get(0)?),
                directory: bytes_of_value(r.get_ref(1)?).unwrap_or_default(),
                bytes: bytes_at(r, 2)?.unwrap_or_default(),
                write: r.get(3)?,
            })
        })
    }

    /// Programs that took work to where Forebay does not look, and how often.
    pub fn unseen_programs(&self) -> Result<Vec<(String, u64)>> {
        self.query_rows("SELECT program, count FROM not_seen ORDER BY count DESC, program", |r| {
            Ok((r.get(0)?, number_at(r, 1)?.unwrap_or(0)))
        })
    }

    pub(super) fn query_rows<T>(
        &self,
        sql: &str,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let read = || -> rusqlite::Result<Vec<T>> {
            let (mut all, most) = (Vec::new(), self.row_limit());
            for row in self.conn.prepare_cached(sql)?.query_map([], row)? {
                all.push(row?);
                if all.len() as u64 > most {
                    return Err(Self::endless_rows_error());
                }
            }
            Ok(all)
        };
        read().map_err(|e| self.read_error(e))
    }

    /// A row more than a file of this length has room for: pages in it lead to themselves.
    pub(super) fn endless_rows_error() -> rusqlite::Error {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT);
        rusqlite::Error::SqliteFailure(code, None)
    }

    pub(super) fn read_error(&self, e: rusqlite::Error) -> Error {
        sqlite_error(&self.path, "read", e)
    }
}

pub(super) fn number_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(from_sql_int))
}

pub(super) fn micros_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Micros>> {
    Ok(number_at(row, column)?.map(Micros))
}

pub(super) fn bytes_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ByteCount>> {
    Ok(number_at(row, column)?.map(ByteCount))
}

/// All processes; used by the fold too, which has no [`Run`].
pub(crate) fn read_processes(conn: &Connection) -> rusqlite::Result<Vec<ProcessRow>> {
    conn.prepare_cached(&processes_query(conn, "")?)?.query_map([], process_row)?.collect()
}

/// The query for processes, of older files, too.
pub(super) fn processes_query(conn: &Connection, filter: &str) -> rusqlite::Result<String> {
    let stranger = match conn.table_exists(None, "strangers")? {
        true => "process IN (SELECT process FROM strangers)",
        false => "0",
    };
    Ok(format!(
        "SELECT process, pid, parent, task, started_us, ended_us, argv, exe, cwd, counted_us,
                user_us, system_us, children_user_us, children_system_us,
                rchar, wchar, read_bytes, write_bytes, {stranger}
         FROM processes {filter} ORDER BY process"
    ))
}

fn process_row(r: &Row<'_>) -> rusqlite::Result<ProcessRow> {
    let id = ProcessId(r.get(0)?);
    let argv: Option<String> = r.get(6)?;
    let io = match (bytes_at(r, 14)?, bytes_at(r, 15)?) {
        (Some(rchar), Some(wchar)) => Some(ProcessIo {
            rchar,
            wchar,
            read_bytes: bytes_at(r, 16)?.unwrap_or_default(),
            write_bytes: bytes_at(r, 17)?.unwrap_or_default(),
        }),
        _ => None,
    };
    let counters = match micros_at(r, 9)? {
        Some(at) => Some(ProcessCounters {
            id,
            at,
            user: micros_at(r, 10)?.unwrap_or_default(),
            system: micros_at(r, 11)?.unwrap_or_default(),
            children_user: micros_at(r, 12)?.unwrap_or_default(),
            children_system: micros_at(r, 13)?.unwrap_or_default(),
            io,
        }),
        None => None,
    };
    Ok(ProcessRow {
        id,
        pid: r.get(1)?,
        parent: r.get::<_, Option<u32>>(2)?.map(ProcessId),
        task: r.get(3)?,
        started: micros_at(r, 4)?,
        ended: micros_at(r, 5)?,
        argv: argv.map(|json| words_from_json(&json)).unwrap_or_default(),
        exe: bytes_of_value(r.get_ref(7)?),
        cwd: bytes_of_value(r.get_ref(8)?),
        counters,
        stranger: r.get(18)?,
    })
}

fn open_row(r: &Row<'_>) -> rusqlite::Result<OpenRow> {
    let io = |at| -> rusqlite::Result<Option<IoCount>> {
        Ok(bytes_at(r, at)?
            .map(|bytes| (bytes, number_at(r, at + 1)))
            .map(|(bytes, calls)| IoCount { bytes, calls: calls.ok().flatten().unwrap_or(0) }))
    };
    Ok(OpenRow {
        task: r.get(0)?,
        open: OpenSession {
            process: ProcessId(r.get(1)?),
            file: FileId(r.get(2)?),
            write: r.get(3)?,
            created: r.get(4)?,
            opened: micros_at(r, 5)?.unwrap_or_default(),
            closed: micros_at(r, 6)?,
            read: io(7)?,
            wrote: io(9)?,
            size_at_open: bytes_at(r, 11)?,
            size_at_close: bytes_at(r, 12)?,
            hidden: r.get(13)?,
            copy: r.get::<_, Option<u16>>(14)?.map(TreeId),
        },
    })
}
