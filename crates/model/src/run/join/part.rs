//! A run file on its way into a joined run: open, looked at, and ready to be read. What can be done
//! without knowing the others is done here, so that several are opened at the same time.

use super::memory_file::MemoryFile;
use crate::run::Run;
use crate::run::header::{Header, HeaderTable, key};
use crate::run::reader::processes_query;
use crate::{Error, Kind, Result, RunEnd, RunOrigin};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Queries of a run file that are kept for when its rows are copied.
const QUERIES_KEPT: usize = 32;

/// Opens run files that are to be joined. What it knows of one serves for others of its kind, in all
/// threads.
#[derive(Clone, Debug, Default)]
pub struct PartOpener {
    idle: Arc<Mutex<Vec<OpenFile>>>,
}

/// A run file that can be joined with others.
#[derive(Debug)]
pub struct JoinPart {
    file: Option<OpenFile>,
    opener: PartOpener,
    pub(super) header: Header,
    pub(super) ended: Option<RunEnd>,
    /// Command lines are not in it.
    pub(super) commands_left_out: bool,
    /// Rows that a table of it may have.
    pub(super) row_limit: u64,
}

/// A run file, and the queries for its rows.
#[derive(Debug)]
struct OpenFile {
    place: FilePlace,
    queries: Queries,
}

/// Where the bytes of a run file are.
#[derive(Debug)]
enum FilePlace {
    Memory(MemoryFile),
    Disk(Run),
}

/// What its rows are asked for by. Tables that files of an older format lack have no query.
#[derive(Debug)]
pub(super) struct Queries {
    pub(super) classes: String,
    pub(super) files: String,
    pub(super) first_names: Option<String>,
    pub(super) removals: Option<String>,
    pub(super) process_rows: String,
    pub(super) processes: String,
    pub(super) strangers: Option<String>,
    pub(super) process_usage: Option<String>,
    pub(super) opens: String,
    pub(super) ops: String,
    pub(super) outside: String,
    pub(super) notes: String,
}

impl PartOpener {
    /// Opens a run file that is to be joined.
    ///
    /// # Errors
    /// As [`Run::open`], and [`Kind::NotARun`]: its names are hashed, by a key of its own; or it was
    /// simulated, imported, or joined already.
    pub fn open(&self, path: &Path) -> Result<JoinPart> {
        let file = match self.open_in_memory(path) {
            Some(file) => file,
            None => OpenFile::new(FilePlace::Disk(Run::open(path)?))?,
        };
        // One transaction: the file is locked once, not for each query.
        file.run().conn.execute_batch("BEGIN").map_err(|e| file.run().read_error(e))?;
        let table = file.run().header_table()?;
        check_joinable(file.run(), &table)?;
        Ok(JoinPart {
            header: Header::of_table(&table),
            ended: table.end(),
            commands_left_out: table.bytes(key::COMMANDS).as_deref() == Some(b"left out"),
            row_limit: file.run().row_limit(),
            file: Some(file),
            opener: self.clone(),
        })
    }

    /// A short file that is whole; `None`: it is to be opened as any.
    fn open_in_memory(&self, path: &Path) -> Option<OpenFile> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(OpenFile { place: FilePlace::Memory(file), queries }) = idle
            && let Some(file) = file.replace(path)
        {
            return Some(OpenFile { place: FilePlace::Memory(file), queries });
        }
        OpenFile::new(FilePlace::Memory(MemoryFile::open(path)?)).ok()
    }
}

impl OpenFile {
    fn new(place: FilePlace) -> Result<OpenFile> {
        let run = place.run();
        run.conn.set_prepared_statement_cache_capacity(QUERIES_KEPT);
        let queries = Queries::of(run).map_err(|e| run.read_error(e))?;
        Ok(OpenFile { place, queries })
    }

    fn run(&self) -> &Run {
        self.place.run()
    }
}

impl FilePlace {
    fn run(&self) -> &Run {
        match self {
            FilePlace::Memory(file) => file.run(),
            FilePlace::Disk(run) => run,
        }
    }
}

impl JoinPart {
    pub(super) fn run(&self) -> &Run {
        self.file().run()
    }

    pub(super) fn queries(&self) -> &Queries {
        &self.file().queries
    }

    fn file(&self) -> &OpenFile {
        self.file.as_ref().expect("it is taken when the part is dropped")
    }
}

impl Drop for JoinPart {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let is_kept = matches!(file.place, FilePlace::Memory(_));
        // One whose transaction does not end is closed.
        if is_kept && file.run().conn.execute_batch("ROLLBACK").is_ok() {
            self.opener.idle.lock().unwrap_or_else(PoisonError::into_inner).push(file);
        }
    }
}

impl Queries {
    /// The queries, each of them prepared.
    fn of(run: &Run) -> rusqlite::Result<Queries> {
        let table = |name: &str, sql: &str| -> rusqlite::Result<Option<String>> {
            Ok(run.conn.table_exists(None, name)?.then(|| sql.to_owned()))
        };
        let (home, gone) = (run.column_or_null(2, "home"), run.column_or_null(4, "gone_us"));
        let copy = run.column_or_null(3, "copy");
        let queries = Queries {
            classes: "SELECT class, pattern FROM classes ORDER BY class".to_owned(),
            // Of files that had one name in turn the latest is the one that others meet.
            files: format!(
                "SELECT file, tree, path, class, {home}, {gone} FROM files ORDER BY file DESC"
            ),
            first_names: table("first_names", "SELECT file, path, class FROM first_names")?,
            removals: table("removals", "SELECT tree, path, gone_us FROM removals")?,
            process_rows: processes_query(&run.conn, "")?,
            processes: "SELECT process, pid, started_us, ended_us, argv, exe, cwd, counted_us, user_us,
                               system_us, children_user_us, children_system_us, rchar, wchar,
                               read_bytes, write_bytes FROM processes ORDER BY process"
                .to_owned(),
            strangers: table("strangers", "SELECT * FROM strangers")?,
            process_usage: table("process_usage", "SELECT * FROM process_usage")?,
            opens: format!(
                "SELECT process, file, write, created, opened_us, closed_us, read_bytes, read_calls,
                        written_bytes, written_calls, size_at_open, size_at_close, hidden, {copy}
                 FROM opens ORDER BY rowid"
            ),
            ops: "SELECT o.process, o.tree, o.class, k.op, k.size_class, k.pattern, o.count, o.failed,
                         o.time_ns, o.bytes, k.op_group
                  FROM process_ops o JOIN op_keys k USING (op_key)"
                .to_owned(),
            outside: "SELECT process, directory, write, bytes FROM outside".to_owned(),
            notes: "SELECT tree, engine, subject, what, value, at_us FROM notes ORDER BY rowid"
                .to_owned(),
        };
        for sql in queries.all() {
            drop(run.conn.prepare_cached(sql)?);
        }
        Ok(queries)
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        let always = [
            &self.classes,
            &self.files,
            &self.process_rows,
            &self.processes,
            &self.opens,
            &self.ops,
            &self.outside,
            &self.notes,
        ];
        let some = [&self.first_names, &self.removals, &self.strangers, &self.process_usage];
        always.into_iter().chain(some.into_iter().flatten())
    }
}

/// Whether a run may be joined with others.
fn check_joinable(run: &Run, header: &HeaderTable) -> Result<()> {
    let refuse = |why: &str, next: &str| {
        let message = format!("cannot join {}: {why}; {next}", run.path().display());
        Err(Error::new(Kind::NotARun, message))
    };
    if header.origin() != RunOrigin::Measured {
        return refuse(
            "it was simulated or imported",
            "only runs that were recorded can be joined",
        );
    }
    if !run.nodes()?.is_empty() {
        return refuse("it was joined already", "name the run files that it was joined of");
    }
    if header.int(key::ANONYMISED) == Some(1) {
        return refuse(
            "its names are hashed, so that its files are not to be told from those of others",
            "record it without --anonymise",
        );
    }
    Ok(())
}
