//! Results on disk: what was compared in the first line, then a line for each run as it ends.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::compared_storages::ComparedStorage;
use super::page_cache::PageCacheMode;
use super::recorded::RecordedRun;
use crate::exit::CommandError;

/// The version of the lines.
pub(super) const SCHEMA: u32 = 2;
/// Nobody waits for more.
pub(super) const ROUNDS_MAX: u32 = 10_000;

/// What is compared. Runs of another command or on other storages are another comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ComparisonHeader {
    pub(super) schema: u32,
    pub(super) forebay: String,
    pub(super) command: Vec<String>,
    pub(super) on: Vec<ComparedStorage>,
    pub(super) seed: u64,
    pub(super) cache: PageCacheMode,
    pub(super) timeout_s: Option<f64>,
    /// Storages are served and recorded by Forebay.
    pub(super) record: bool,
    /// The run that is replayed; `None`: the command itself is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replay: Option<PathBuf>,
}

impl ComparisonHeader {
    /// Is this the first line of the same comparison? If not, whose it is.
    fn check_same_comparison(&self, line: &str) -> Result<(), String> {
        let known: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        match known["schema"].as_u64() {
            Some(schema) if schema != u64::from(SCHEMA) => {
                Err(format!("another version of Forebay (schema {schema}, and not {SCHEMA})"))
            }
            _ if serde_json::from_value(known)
                .is_ok_and(|known: ComparisonHeader| known == *self) =>
            {
                Ok(())
            }
            _ => Err("another comparison".to_owned()),
        }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BenchRun {
    pub(super) round: u32,
    pub(super) on: String,
    /// From the start of the command to its end.
    pub(super) seconds: f64,
    pub(super) user_seconds: f64,
    pub(super) system_seconds: f64,
    /// `None`: a signal ended it.
    pub(super) exit: Option<i32>,
    pub(super) signal: Option<i32>,
    /// It was ended since it took too long.
    pub(super) timed_out: bool,
    /// Room that was left on the storage when the command had ended.
    pub(super) left_bytes: Option<u64>,
    /// `None`: it was not recorded, or failed.
    pub(super) recorded: Option<RecordedRun>,
}

/// With less room a storage is full.
const FULL: u64 = 1 << 20;

impl BenchRun {
    /// Why it does not count, if it does not.
    pub(super) fn failure(&self) -> Option<String> {
        match (self.timed_out, self.exit, self.signal) {
            (true, _, _) => Some(format!("was ended after {:.1} s", self.seconds)),
            (_, Some(0), _) => None,
            (_, Some(code), _) => Some(format!("failed with exit code {code}")),
            (_, None, signal) => Some(format!("was ended by signal {}", signal.unwrap_or(0))),
        }
    }

    /// It failed, and there was no room.
    pub(super) fn filled_up(&self) -> bool {
        self.failure().is_some() && self.left_bytes.is_some_and(|bytes| bytes < FULL)
    }
}

/// Seconds of the runs on one storage, by round; `None` where there is none that succeeded.
pub(super) fn times_by_round(runs: &[BenchRun], on: &str) -> Vec<Option<f64>> {
    let rounds = runs.iter().map(|run| run.round + 1).max().unwrap_or(0);
    let mut times = vec![None; rounds as usize];
    for run in runs.iter().filter(|run| run.on == on && run.failure().is_none()) {
        times[run.round as usize] = Some(run.seconds);
    }
    times
}

/// The file, and what is in it.
#[derive(Debug)]
pub(super) struct ResultLog {
    pub(super) file: PathBuf,
    pub(super) runs: Vec<BenchRun>,
    end: File,
}

impl ResultLog {
    /// Makes the directory and its file, or goes on with what is there.
    pub(super) fn open_or_create(
        folder: &Path,
        header: &ComparisonHeader,
    ) -> Result<ResultLog, CommandError> {
        let file = folder.join("results.jsonl");
        let failed =
            |error: io::Error| CommandError::new(1, format!("{}: {error}", file.display()), WRITE);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let text = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(failed)?,
        };
        // What follows the last end of a line was being written when the machine went down.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let mut lines = whole.lines();
        let mut runs = Vec::new();
        if let Some(first) = lines.next() {
            header.check_same_comparison(first).map_err(|why| {
                let message = format!("{} is of {why}", file.display());
                CommandError::new(1, message, ELSEWHERE)
            })?;
            for (line, number) in lines.zip(2..) {
                let run = serde_json::from_str::<BenchRun>(line).map_err(|error| error.to_string());
                let run = run.and_then(|run| match run.round < ROUNDS_MAX {
                    true => Ok(run),
                    false => Err(format!("round {} is beyond {ROUNDS_MAX}", run.round)),
                });
                runs.push(run.map_err(|why| {
                    let message = format!("{}:{number}: {why}", file.display());
                    CommandError::new(1, message, ELSEWHERE)
                })?);
            }
        }
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&file);
        let mut end = open.map_err(failed)?;
        end.set_len(whole.len() as u64).map_err(failed)?;
        io::Seek::seek(&mut end, io::SeekFrom::End(0)).map_err(failed)?;
        let mut kept = ResultLog { file: file.clone(), runs, end };
        if whole.is_empty() {
            kept.append_line(header).map_err(failed)?;
        }
        Ok(kept)
    }

    /// Keeps a run: it is on the disk when this returns.
    pub(super) fn append_run(&mut self, run: BenchRun) -> Result<(), CommandError> {
        let written = self.append_line(&run);
        written.map_err(|error| {
            CommandError::new(1, format!("{}: {error}", self.file.display()), WRITE)
        })?;
        self.runs.push(run);
        Ok(())
    }

    fn append_line(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.end.write_all(&line)?;
        self.end.sync_data()
    }
}

const ELSEWHERE: &str = "name another directory with -o; nothing was run";
const WRITE: &str = "results need a directory that is yours, with room: name one with -o";
