//! Writes a run while it lasts: one transaction for each batch of facts, nothing lost by a kill.

use super::header::{self, Header};
use super::sql::{SqlText, execute_cached, sqlite_error, to_sql_int, words_to_json};
use super::{APPLICATION_ID, SCHEMA, SCHEMA_VERSION, copy, given, network, task_aggregation};
use crate::event::{
    DirectoryTree, EngineFile, Fact, FileRecord, MachineSample, Op, OpDelta, OpKey, OpenSession,
    OutsideFile, Process, ProcessCounters, ProcessUsage,
};
use crate::{Error, Kind, Result, tasks};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params};
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes one run file. Best on a local directory: SQLite's write-ahead log wants shared memory.
///
/// After a kill at any instant, every batch for which [`write_facts`](RunWriter::write_facts)
/// returned is in the file (after a power loss: a prefix of them), and
/// [`Run::salvage_run`](super::Run::salvage_run) makes a readable run of it.
#[derive(Debug)]
pub struct RunWriter {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
    header: Header,
}

impl RunWriter {
    /// Makes a new run file, readable by its owner only (mode 0600).
    ///
    /// # Errors
    /// [`Kind::Io`] if the file exists or cannot be made; [`Kind::Full`] without space.
    pub fn create(path: &Path, header: Header) -> Result<Self> {
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(
            |e| {
                let next = "choose another name or directory (`-o FILE`)";
                let message = format!("cannot create run file {}: {next}", path.display());
                Error::new(Kind::Io, message).with_source(e)
            },
        )?;
        let conn =
            Self::create_database(path, &header).map_err(|e| sqlite_error(path, "create", e))?;
        Ok(Self { conn, path: path.to_owned(), header })
    }

    fn create_database(path: &Path, header: &Header) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut conn = Connection::open_with_flags(path, flags)?;
        conn.set_prepared_statement_cache_capacity(64);
        conn.pragma_update(None, "application_id", APPLICATION_ID)?;
        conn.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        conn.pragma_update(None, "journal_mode", "WAL")?;
        conn.pragma_update(None, "synchronous", "NORMAL")?;
        conn.pragma_update(None, "wal_autocheckpoint", 4_000)?;
        conn.pragma_update(None, "cache_size", -16_000)?;
        let tx = conn.transaction()?;
        tx.execute_batch(SCHEMA)?;
        header.store(&tx)?;
        store_op_keys(&tx)?;
        tx.commit()?;
        Ok(conn)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds facts in one transaction: all of them or, after an error, none.
    ///
    /// # Errors
    /// [`Kind::Full`], [`Kind::Io`]: nothing of this batch was kept; it may be given again.
    pub fn write_facts(&mut self, facts: &[Fact]) -> Result<()> {
        write_all(&mut self.conn, facts).map_err(|e| sqlite_error(&self.path, "write to", e))
    }

    /// Folds what was seen into tasks and marks the run as ended. Later facts are refused by
    /// nobody but belong to no task.
    ///
    /// # Errors
    /// As [`write_facts`](RunWriter::write_facts); the facts stay in the file.
    pub fn finish_run(&mut self) -> Result<()> {
        task_aggregation::fold_run(&mut self.conn)
            .map_err(|e| sqlite_error(&self.path, "finish", e))
    }

    /// Copies the run to `dest` (mode 0600, durable, all or nothing), made private as the header
    /// asks, and leaves this file as it is. An existing `dest` is replaced.
    ///
    /// # Errors
    /// [`Kind::Full`], [`Kind::Io`]: `dest` is untouched; the run is still at
    /// [`path`](RunWriter::path).
    pub fn copy_to(&self, dest: &Path) -> Result<()> {
        self.copy_through(dest, dest)
    }

    /// Copies the run to `dest`, a path through a descriptor; `shown` is what messages call it.
    ///
    /// # Errors
    /// As [`RunWriter::copy_to`].
    pub fn copy_through(&self, dest: &Path, shown: &Path) -> Result<()> {
        copy::copy_run(&self.conn, &self.path, (dest, shown), self.header.privacy.anonymise)
    }

    /// Removes the file and its log, after it was copied.
    ///
    /// # Errors
    /// [`Kind::Io`] if the file cannot be removed.
    pub fn remove(self) -> Result<()> {
        let Self { conn, path, .. } = self;
        drop(conn);
        copy::remove_run_file(&path)
    }
}

fn store_op_keys(c: &Connection) -> rusqlite::Result<()> {
    let mut insert = c.prepare("INSERT INTO op_keys VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for index in 0..OpKey::COUNT {
        let key = OpKey::from_index(index).expect("index is below COUNT");
        let op: Op = key.op();
        insert.execute(params![
            to_sql_int(index as u64),
            op.name(),
            op.group().name(),
            key.size().map(|s| s.name()),
            key.pattern().map(|p| p.name()),
        ])?;
    }
    Ok(())
}

fn write_all(conn: &mut Connection, facts: &[Fact]) -> rusqlite::Result<()> {
    let tx = conn.transaction()?;
    for fact in facts {
        write_fact(&tx, fact)?;
    }
    tx.commit()
}

fn write_fact(c: &Connection, fact: &Fact) -> rusqlite::Result<()> {
    match fact {
        Fact::Tree(tree) => write_tree(c, tree),
        Fact::Process(process) => write_process(c, process),
        Fact::ProcessCounters(counters) => write_counters(c, counters),
        Fact::ProcessUsage(usage) => write_usage(c, usage),
        Fact::Stranger { id } => {
            execute_cached(c, "INSERT OR IGNORE INTO strangers VALUES (?1)", params![id.0])
        }
        Fact::Task(task) => given::write_task(c, task),
        Fact::ProcessEnded { id, at } => execute_cached(
            c,
            "INSERT INTO processes (process, ended_us) VALUES (?1, ?2)
             ON CONFLICT (process) DO UPDATE SET ended_us = excluded.ended_us",
            params![id.0, to_sql_int(at.0)],
        ),
        Fact::Class { id, pattern } => execute_cached(
            c,
            "INSERT OR REPLACE INTO classes VALUES (?1, ?2)",
            params![id.0, pattern],
        ),
        Fact::File(file) => write_file(c, file),
        Fact::Gone { id, at } => execute_cached(
            c,
            "UPDATE files SET gone_us = ?2 WHERE file = ?1",
            params![id.0, to_sql_int(at.0)],
        ),
        Fact::Removed { tree, path, at: Some(at) } => execute_cached(
            c,
            "INSERT OR REPLACE INTO removals VALUES (?1, ?2, ?3)",
            params![tree.0, SqlText(path), to_sql_int(at.0)],
        ),
        Fact::Removed { tree, path, at: None } => execute_cached(
            c,
            "DELETE FROM removals WHERE tree = ?1 AND path = ?2",
            params![tree.0, SqlText(path)],
        ),
        Fact::Open(open) => write_open(c, open),
        Fact::Ops(ops) => write_ops(c, ops),
        Fact::Sample(sample) => write_sample(c, sample),
        Fact::Outside(outside) => write_outside(c, outside),
        Fact::EngineFile(file) => write_notes(c, file),
        Fact::Ended(ended) => header::store_end(c, ended),
    }
}

fn write_tree(c: &Connection, t: &DirectoryTree) -> rusqlite::Result<()> {
    execute_cached(
        c,
        "INSERT OR REPLACE INTO trees VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![t.id.0, SqlText(&t.path), t.fs_type, t.passthrough, t.device, t.tier],
    )
}

fn write_process(c: &Connection, p: &Process) -> rusqlite::Result<()> {
    let words = crate::privacy::mask_words(&p.argv);
    let argv = (!p.argv.is_empty()).then(|| words_to_json(words.iter().map(|word| word.as_ref())));
    execute_cached(
        c,
        "INSERT INTO processes (process, pid, parent, started_us, argv, exe, cwd)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (process) DO UPDATE SET pid = excluded.pid,
           parent = IFNULL(excluded.parent, parent),
           started_us = min(IFNULL(started_us, excluded.started_us), excluded.started_us),
           argv = IFNULL(excluded.argv, argv), exe = IFNULL(excluded.exe, exe),
           cwd = IFNULL(excluded.cwd, cwd)",
        params![
            p.id.0,
            p.pid,
            p.parent.map(|id| id.0),
            to_sql_int(p.started.0),
            argv,
            p.exe.as_deref().map(SqlText),
            p.cwd.as_deref().map(SqlText),
        ],
    )
}

fn write_counters(c: &Connection, p: &ProcessCounters) -> rusqlite::Result<()> {
    execute_cached(
        c,
        "INSERT INTO processes (process, counted_us, user_us, system_us, children_user_us,
           children_system_us, rchar, wchar, read_bytes, write_bytes)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (process) DO UPDATE SET counted_us = excluded.counted_us,
           user_us = excluded.user_us, system_us = excluded.system_us,
           children_user_us = excluded.children_user_us,
           children_system_us = excluded.children_system_us,
           rchar = IFNULL(excluded.rchar, rchar), wchar = IFNULL(excluded.wchar, wchar),
           read_bytes = IFNULL(excluded.read_bytes, read_bytes),
           write_bytes = IFNULL(excluded.write_bytes, write_bytes)",
        params![
            p.id.0,
            to_sql_int(p.at.0),
            to_sql_int(p.user.0),
            to_sql_int(p.system.0),
            to_sql_int(p.children_user.0),
            to_sql_int(p.children_system.0),
            p.io.map(|io| to_sql_int(io.rchar.0)),
            p.io.map(|io| to_sql_int(io.wchar.0)),
            p.io.map(|io| to_sql_int(io.read_bytes.0)),
            p.io.map(|io| to_sql_int(io.write_bytes.0)),
        ],
    )
}

fn write_usage(c: &Connection, u: &ProcessUsage) -> rusqlite::Result<()> {
    // Of threads that ended in between an earlier look knows more.
    execute_cached(
        c,
        "INSERT INTO process_usage VALUES (?1, ?2, ?3)
         ON CONFLICT (process) DO UPDATE SET
           cpu_wait_us = IFNULL(max(cpu_wait_us, excluded.cpu_wait_us),
                                IFNULL(excluded.cpu_wait_us, cpu_wait_us)),
           memory_peak_bytes = IFNULL(max(memory_peak_bytes, excluded.memory_peak_bytes),
                                      IFNULL(excluded.memory_peak_bytes, memory_peak_bytes))",
        params![
            u.id.0,
            u.cpu_wait.map(|t| to_sql_int(t.0)),
            u.memory_peak.map(|n| to_sql_int(n.0))
        ],
    )
}

fn write_file(c: &Connection, f: &FileRecord) -> rusqlite::Result<()> {
    execute_cached(
        c,
        "INSERT OR IGNORE INTO first_names
         SELECT file, path, class FROM files WHERE file = ?1 AND path <> ?2",
        params![f.id.0, SqlText(&f.path)],
    )?;
    execute_cached(
        c,
        "INSERT OR REPLACE INTO files (file, tree, path, class, home) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![f.id.0, f.tree.0, SqlText(&f.path), f.class.0, f.home.map(|home| home.0)],
    )
}

fn write_open(c: &Connection, o: &OpenSession) -> rusqlite::Result<()> {
    execute_cached(
        c,
        "INSERT INTO opens VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            o.process.0,
            o.file.0,
            o.write,
            o.created,
            to_sql_int(o.opened.0),
            o.closed.map(|t| to_sql_int(t.0)),
            o.read.map(|io| to_sql_int(io.bytes.0)),
            o.read.map(|io| to_sql_int(io.calls)),
            o.wrote.map(|io| to_sql_int(io.bytes.0)),
            o.wrote.map(|io| to_sql_int(io.calls)),
            o.size_at_open.map(|n| to_sql_int(n.0)),
            o.size_at_close.map(|n| to_sql_int(n.0)),
            o.hidden,
            o.copy.map(|tree| tree.0),
        ],
    )
}

fn write_ops(c: &Connection, o: &OpDelta) -> rusqlite::Result<()> {
    execute_cached(
        c,
        "INSERT INTO process_ops VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (op_key, class, tree, IFNULL(process, -1)) DO UPDATE SET
           count = count + excluded.count, failed = failed + excluded.failed,
           time_ns = time_ns + excluded.time_ns, bytes = bytes + excluded.bytes",
        params![
            o.process.map(|id| id.0),
            o.tree.0,
            o.class.0,
            to_sql_int(o.key.index() as u64),
            to_sql_int(o.count.count),
            to_sql_int(o.count.failed),
            to_sql_int(o.count.nanos),
            to_sql_int(o.count.bytes),
        ],
    )
}

pub(super) fn write_sample(c: &Connection, s: &MachineSample) -> rusqlite::Result<()> {
    execute_cached(
        c,
        "INSERT OR REPLACE INTO samples
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            to_sql_int(s.at.0),
            to_sql_int(s.cpu.user.0),
            to_sql_int(s.cpu.system.0),
            to_sql_int(s.cpu.iowait.0),
            to_sql_int(s.cpu.idle.0),
            to_sql_int(s.cpu.steal.0),
            to_sql_int(s.memory.total.0),
            to_sql_int(s.memory.available.0),
            to_sql_int(s.memory.dirty.0),
            to_sql_int(s.memory.writeback.0),
            to_sql_int(s.memory.cached.0),
            s.pressure.map(|p| to_sql_int(p.some.0)),
            s.pressure.map(|p| to_sql_int(p.full.0)),
        ],
    )?;
    for d in &s.devices {
        execute_cached(
            c,
            "INSERT INTO sample_devices VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                to_sql_int(s.at.0),
                d.name,
                to_sql_int(d.read.0),
                to_sql_int(d.written.0),
                to_sql_int(d.reads),
                to_sql_int(d.writes),
                to_sql_int(d.busy.0),
            ],
        )?;
    }
    network::write_networks(c, s)
}

fn write_outside(c: &Connection, o: &OutsideFile) -> rusqlite::Result<()> {
    execute_cached(
        c,
        "INSERT INTO outside VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (process, directory, write) DO UPDATE SET bytes = max(bytes, excluded.bytes)",
        params![o.process.0, SqlText(&o.directory), o.write, to_sql_int(o.bytes.0)],
    )
}

/// Keeps what a control file says, not the file: scripts may hold secrets, and they are many.
fn write_notes(c: &Connection, file: &EngineFile) -> rusqlite::Result<()> {
    for (engine, note) in tasks::parse_control_file(&file.path, &file.content) {
        let value = match note.value {
            tasks::EngineNoteValue::There => Value::Null,
            tasks::EngineNoteValue::Number(n) => Value::Integer(n),
            tasks::EngineNoteValue::Text(text) => Value::Text(text),
        };
        execute_cached(
            c,
            "INSERT INTO notes VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                file.tree.0,
                engine,
                SqlText(&note.subject),
                note.what,
                value,
                to_sql_int(file.at.0)
            ],
        )?;
    }
    Ok(())
}
