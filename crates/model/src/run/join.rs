//! Several run files become one: what one pipeline did on several nodes.
//!
//! Processes, files, classes and directories are numbered anew; times are put on the clock of the
//! first run; a process that two runs have counts once. Tasks are then recognised in the whole, as in
//! any run. What it is not: it looks for no run files.

mod clocks;
mod copy_rows;
mod memory_file;
mod names;
mod part;
mod place_opens;

use super::header::{self, Header, key};
use super::sql::{execute_cached, sqlite_error, to_sql_int};
use super::{Run, RunWriter, note_key, task_aggregation};
use crate::{CommandPrivacy, Error, Kind, Micros, Result, RunEnd};
use clocks::Clocks;
use names::JoinedNames;
pub use part::{JoinPart, PartOpener};
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A node of a joined run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRow {
    /// Its name.
    pub name: String,
    /// Name of the machine, if known; nodes on one machine have one clock.
    pub host: Option<String>,
    /// How many run files came from it.
    pub runs: u64,
    /// What was added to its times, in microseconds.
    pub clock_shift_us: i64,
    /// The least that the files which it and others used allow, if they say so.
    pub clock_shift_least_us: Option<i64>,
    /// The most that they allow.
    pub clock_shift_most_us: Option<i64>,
}

/// What came of a join.
#[derive(Debug, Default)]
pub struct JoinReport {
    /// Run files that are in it.
    pub runs: u64,
    /// Files that could not be read, and why; the rest counts.
    pub left_out: Vec<(PathBuf, Error)>,
    /// Processes that several runs had, and that count once.
    pub processes_seen_twice: u64,
    /// Machines whose clocks contradict what their files say, by name.
    pub contradicting_clocks: Vec<String>,
}

/// The state of a join.
#[derive(Debug)]
struct Join {
    names: JoinedNames,
    clocks: Clocks,
    nodes: Vec<NodeRow>,
    /// Which of `nodes` has this name, and which clock.
    node_by_name: HashMap<String, usize>,
    clock_by_host: HashMap<String, usize>,
    /// The clock of each of `nodes`.
    clock_of: Vec<usize>,
    base_unix: i64,
    report: JoinReport,
    ended: Option<RunEnd>,
    complete: bool,
    recorders: HashSet<String>,
    counted: BTreeMap<String, u64>,
    /// Jobs that a program handed over and of which the run knows: its name, and their tokens.
    known_jobs: BTreeMap<String, HashSet<String>>,
}

/// A job that began, of which no record came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostJob {
    /// Which program sent it.
    pub program: String,
    /// What it was sent as: jobs of an array, and tries of one job, have the same.
    pub token: String,
}

impl RunWriter {
    /// Makes one run of several in a new file at `path`. The first of `parts` gives the command, its
    /// end and the clock. It is not complete if it has `lost` jobs.
    ///
    /// A file that can't be read is left out, and told in the report.
    ///
    /// # Errors
    /// The first run can't be read or [joined](PartOpener::open), or [`Kind::Io`], [`Kind::Full`] of
    /// the new file.
    pub fn join_runs(
        path: &Path,
        parts: impl IntoIterator<Item = (PathBuf, Result<JoinPart>)>,
        lost: &[LostJob],
    ) -> Result<(RunWriter, JoinReport)> {
        let none = || Error::new(Kind::Missing, "there is no run to join: name run files");
        let mut parts = parts.into_iter();
        let (first_path, first) = parts.next().ok_or_else(none)?;
        let first = first?;
        let second = parts.next();
        let mut header = first.header.clone();
        if first.commands_left_out {
            header.privacy.commands = CommandPrivacy::LeftOut;
        }
        // The command of one of several equals is not the whole's.
        let headed = is_headed(&first, second.as_ref());
        // They are of one part, not of the whole.
        let of_part = [note_key::NODE.name(), note_key::JOB.name(), note_key::JOB_SENT_BY.name()];
        header.more.retain(|(name, _)| !of_part.contains(&&**name));
        if !headed {
            header.command = vec![b"forebay".to_vec(), b"join".to_vec()];
        }
        let base_unix = to_sql_int(header.started_unix.0);
        let mut writer = RunWriter::create(path, header)?;
        let mut all = std::iter::once((first_path, Ok(first))).chain(second).chain(parts);
        match fill(&mut writer.conn, &mut all, base_unix, headed, lost) {
            Ok(report) => Ok((writer, report)),
            Err(Failed::Ours(e)) => {
                let stop = sqlite_error(path, "write to", e);
                // It is of no use.
                let _ = writer.remove();
                Err(stop)
            }
            Err(Failed::Theirs(error)) => {
                let _ = writer.remove();
                Err(error)
            }
        }
    }
}

/// Whether the first run sent the others as jobs: it is none itself, and they are.
fn is_headed(first: &JoinPart, second: Option<&(PathBuf, Result<JoinPart>)>) -> bool {
    let is_job = |part: &JoinPart| part.header.note(&note_key::JOB).is_some();
    let Some((_, second)) = second else { return true };
    !is_job(first) && second.as_ref().is_ok_and(is_job)
}

/// Statements that write rows: all that there are, with room.
const STATEMENTS_KEPT: usize = 64;

/// Whose fault it is that a join does not go on.
enum Failed {
    /// The new file can't be written.
    Ours(rusqlite::Error),
    /// A file that is read can't be.
    Theirs(Error),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Failed {
        Failed::Ours(error)
    }
}

fn fill(
    conn: &mut Connection,
    parts: &mut dyn Iterator<Item = (PathBuf, Result<JoinPart>)>,
    base_unix: i64,
    headed: bool,
    lost: &[LostJob],
) -> std::result::Result<JoinReport, Failed> {
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    let tx = conn.transaction()?;
    place_opens::make_staging(&tx)?;
    let mut join = Join {
        names: JoinedNames::default(),
        clocks: Clocks::default(),
        nodes: Vec::new(),
        node_by_name: HashMap::new(),
        clock_by_host: HashMap::new(),
        clock_of: Vec::new(),
        base_unix,
        report: JoinReport::default(),
        ended: None,
        complete: true,
        recorders: HashSet::new(),
        counted: BTreeMap::new(),
        known_jobs: BTreeMap::new(),
    };
    if !headed {
        let process = join.names.new_process();
        tx.execute(
            "INSERT INTO processes (process, started_us, ended_us, argv) VALUES (?1, 0, 0, ?2)",
            params![process, "[\"forebay\",\"join\"]"],
        )?;
    }
    for (at, (path, part)) in parts.enumerate() {
        let added = part
            .map_err(Failed::Theirs)
            .and_then(|part| join.add_part(&tx, part, headed && at == 0));
        match added {
            Ok(()) => join.report.runs += 1,
            Err(Failed::Theirs(error)) if at > 0 => {
                join.complete = false;
                join.report.left_out.push((path, error));
            }
            Err(other) => return Err(other),
        }
    }
    join.settle_clocks(&tx)?;
    place_opens::sort_opens(&tx)?;
    place_opens::settle_removals(&tx)?;
    for LostJob { program, token } in lost {
        join.known_jobs.entry(program.clone()).or_default().insert(token.clone());
    }
    join.write_header(&tx, headed, lost.len() as u64)?;
    join.write_nodes(&tx)?;
    tx.commit()?;
    task_aggregation::fold_run(conn)?;
    join.take_back_known(conn)?;
    Ok(join.report)
}

impl Join {
    /// Adds one run file: all of it or nothing.
    fn add_part(
        &mut self,
        c: &Connection,
        part: JoinPart,
        is_head: bool,
    ) -> std::result::Result<(), Failed> {
        let node = self.node_of(&part.header);
        execute_cached(c, "SAVEPOINT one_run", [])?;
        self.names.begin();
        self.clocks.begin();
        let shift = to_sql_int(part.header.started_unix.0).saturating_sub(self.base_unix);
        match copy_rows::copy_run(self, c, &part, (node, shift)) {
            Ok(()) => execute_cached(c, "RELEASE one_run", [])?,
            Err(failed) => {
                c.execute_batch("ROLLBACK TO one_run; RELEASE one_run")?;
                self.names.undo();
                self.clocks.undo();
                return Err(match failed {
                    copy_rows::CopyError::Reading(e) => Failed::Theirs(part.run().read_error(e)),
                    copy_rows::CopyError::Writing(e) => Failed::Ours(e),
                });
            }
        }
        self.nodes[node].runs += 1;
        self.note_header(&part.header, part.ended, shift, is_head);
        Ok(())
    }

    /// The node that a run was recorded on.
    fn node_of(&mut self, header: &Header) -> usize {
        let host = header.host.clone();
        let name = header.note(&note_key::NODE).or_else(|| host.clone());
        let name = name.unwrap_or_else(|| "unknown".to_owned());
        if let Some(&known) = self.node_by_name.get(&name) {
            return known;
        }
        // A machine without a name has a clock of its own.
        let machine = host.clone().unwrap_or_else(|| format!("node {name}"));
        let clock = match self.clock_by_host.get(&machine) {
            Some(&clock) => clock,
            None => {
                let clock = self.clocks.add_clock();
                self.clock_by_host.insert(machine, clock);
                clock
            }
        };
        self.nodes.push(NodeRow { name: name.clone(), host, ..NodeRow::default() });
        self.clock_of.push(clock);
        self.node_by_name.insert(name, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// What the whole takes over from the header of one.
    fn note_header(&mut self, header: &Header, ended: Option<RunEnd>, shift: i64, is_head: bool) {
        let recorder = header.note(&note_key::RECORDER);
        self.recorders.insert(recorder.unwrap_or_else(|| "fuse".to_owned()));
        for key in [
            &note_key::LOST_EVENTS,
            &note_key::IO_URING_RINGS,
            &note_key::CALLS_OF_32_BITS,
            &note_key::STRANGE_DESCRIPTORS,
        ] {
            if let Some(count) = header.note(key) {
                let sum = self.counted.entry(key.name().to_owned()).or_insert(0);
                *sum = sum.saturating_add(count);
            }
        }
        if let (Some(job), Some(program)) =
            (header.note(&note_key::JOB), header.note(&note_key::JOB_SENT_BY))
        {
            self.known_jobs.entry(program).or_default().insert(job);
        }
        self.complete &= ended.is_some_and(|end| end.complete);
        let Some(mut end) = ended else { return };
        end.at = Micros(to_sql_int(end.at.0).saturating_add(shift).max(0) as u64);
        let both = |a: Option<Micros>, b: Option<Micros>| match (a, b) {
            (Some(a), Some(b)) => Some(Micros(a.0.saturating_add(b.0))),
            (a, b) => a.or(b),
        };
        self.ended = Some(match self.ended.take() {
            None => RunEnd { exit: end.exit.filter(|_| is_head), ..end },
            Some(first) => RunEnd {
                at: first.at.max(end.at),
                exit: first.exit,
                cpu_user: both(first.cpu_user, end.cpu_user),
                cpu_system: both(first.cpu_system, end.cpu_system),
                complete: true,
            },
        });
    }

    /// Puts all times on the clock of the first run, and begins at the earliest.
    fn settle_clocks(&mut self, c: &Connection) -> rusqlite::Result<()> {
        let fits = self.clocks.fit();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let fit = fits[self.clock_of[at]];
            node.clock_shift_us = fit.shift;
            (node.clock_shift_least_us, node.clock_shift_most_us) = (fit.least, fit.most);
            if fit.contradicts {
                self.report.contradicting_clocks.push(node.name.clone());
            }
            if fit.shift != 0 {
                place_opens::shift_node(c, at, fit.shift)?;
            }
        }
        let earliest = place_opens::earliest(c)?.min(0);
        if earliest < 0 {
            place_opens::shift_all(c, earliest.saturating_neg())?;
            let start = self.base_unix.saturating_add(earliest);
            header::set_value(c, "started_unix_us", start)?;
            if let Some(end) = &mut self.ended {
                end.at = Micros(end.at.0.saturating_add(earliest.unsigned_abs()));
            }
        }
        Ok(())
    }

    fn write_header(&mut self, c: &Connection, headed: bool, missing: u64) -> rusqlite::Result<()> {
        let recorder = ["notify", "bpf"].into_iter().find(|name| self.recorders.contains(*name));
        let mut notes = vec![
            note_key::RECORDER.to_note(&recorder.unwrap_or("fuse").to_owned()),
            note_key::JOINED_RUNS.to_note(&self.report.runs),
        ];
        if missing > 0 {
            notes.push(note_key::JOBS_NOT_RECORDED.to_note(&missing));
        }
        header::store_notes(c, &notes)?;
        for (name, count) in &self.counted {
            header::store_notes(c, &[(name.clone(), count.to_string())])?;
        }
        if !headed {
            header::set_value(c, key::COMMAND, "[\"forebay\",\"join\"]".to_owned())?;
        }
        let complete = self.complete && missing == 0;
        match &self.ended {
            Some(end) => header::store_end(c, &RunEnd { complete, ..*end }),
            None => Ok(()),
        }
    }

    fn write_nodes(&self, c: &Connection) -> rusqlite::Result<()> {
        let mut insert = c.prepare("INSERT INTO nodes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
        for (at, node) in self.nodes.iter().enumerate() {
            insert.execute(params![
                to_sql_int(at as u64),
                node.name,
                node.host,
                to_sql_int(node.runs),
                node.clock_shift_us,
                node.clock_shift_least_us,
                node.clock_shift_most_us,
            ])?;
        }
        Ok(())
    }

    /// What was handed over and is known all the same is not "not seen": it was recorded, or is told
    /// as lost.
    fn take_back_known(&self, c: &Connection) -> rusqlite::Result<()> {
        for (program, jobs) in &self.known_jobs {
            let known = to_sql_int(jobs.len() as u64);
            c.execute(
                "UPDATE not_seen SET count = count - ?2 WHERE program = ?1",
                params![program, known],
            )?;
        }
        c.execute("DELETE FROM not_seen WHERE count <= 0", []).map(drop)
    }
}

impl Run {
    /// The nodes of a joined run; of others none.
    pub fn nodes(&self) -> Result<Vec<NodeRow>> {
        if !self.conn.table_exists(None, "nodes").map_err(|e| self.read_error(e))? {
            return Ok(Vec::new());
        }
        self.query_rows(
            "SELECT name, host, runs, clock_shift_us, clock_shift_least_us, clock_shift_most_us
             FROM nodes ORDER BY node",
            |r| {
                Ok(NodeRow {
                    name: r.get(0)?,
                    host: r.get(1)?,
                    runs: super::reader::number_at(r, 2)?.unwrap_or(0),
                    clock_shift_us: r.get(3)?,
                    clock_shift_least_us: r.get(4)?,
                    clock_shift_most_us: r.get(5)?,
                })
            },
        )
    }
}

#[cfg(test)]
mod tests;
