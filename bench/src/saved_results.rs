//! What is saved: one JSON line for each run, appended as soon as it ended.
//!
//! A torn last line (power, kill -9) is skipped when reading; nothing is ever rewritten.

use crate::error::{ErrorContext, Result};
use crate::launch::CommandOutcome;
use crate::measure::Measurement;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// As whom a run ran.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum RunUser {
    /// Root: kernel passthrough.
    Root,
    /// An ordinary user: through the daemon.
    User,
}

/// How a run ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// Without Forebay.
    Bare,
    /// Under `forebay run`.
    Covered,
    /// Under `forebay run --trace every-read`.
    EveryRead,
    /// Under `forebay run` with rules for the pipeline's temporary files.
    Rules,
    /// Under `forebay run --recorder bpf`, without a mount.
    Bpf,
    /// Under `forebay run --recorder notify`, without a mount.
    Notify,
}

impl Arm {
    /// All but the bare one.
    pub const RECORDED: [Self; 5] =
        [Self::Covered, Self::EveryRead, Self::Rules, Self::Bpf, Self::Notify];
}

impl fmt::Display for RunUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::User => "user",
        })
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bare => "bare",
            Self::Covered => "covered",
            Self::EveryRead => "every-read",
            Self::Rules => "rules",
            Self::Bpf => "bpf",
            Self::Notify => "notify",
        })
    }
}

/// Which run this is: what makes two records comparable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunLabel {
    /// The session it belongs to.
    pub session: String,
    /// Workload or pipeline.
    pub name: String,
    /// As whom.
    pub who: RunUser,
    /// How.
    pub arm: Arm,
    /// Number of the block; the runs of one block are compared with each other.
    pub block: u32,
    /// Place in the shuffled order of the block.
    pub order: u32,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which run.
    #[serde(flatten)]
    pub label: RunLabel,
    /// When it started, seconds since 1970.
    pub at_unix: u64,
    /// Seen from outside: wall, CPU, load.
    pub ended: CommandOutcome,
    /// Seen from inside; none for pipelines.
    pub measured: Option<Measurement>,
    /// FUSE requests by kind, from the run file; empty for bare runs.
    pub requests: BTreeMap<String, u64>,
    /// Why its figure must not be used; none if all is well.
    pub failure: Option<String>,
}

/// Where and how a session ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its name.
    pub session: String,
    /// `micro` or `pipelines`.
    pub mode: String,
    /// Names the forebay binary by its bytes.
    pub build: String,
    /// Seed of the order.
    pub seed: u64,
    /// Kernel, cores, file system, what was left out: one line each.
    pub conditions: Vec<String>,
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
enum ResultLine {
    Session(Session),
    Record(RunRecord),
}

/// All that a file holds.
#[derive(Debug, Default)]
pub struct SavedResults {
    /// In the order they began.
    pub sessions: Vec<Session>,
    /// In the order they ended.
    pub records: Vec<RunRecord>,
}

impl SavedResults {
    /// Reads `path`; nothing if there is no such file.
    pub fn load(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path).with_context("read", path)?;
        let mut saved = Self::default();
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(ResultLine::Session(session)) => saved.sessions.push(session),
                Ok(ResultLine::Record(record)) => saved.records.push(record),
                Err(cause) => eprintln!("skipped a line of {}: {cause}", path.display()),
            }
        }
        Ok(saved)
    }

    /// The newest session that has runs of `name` as `who`.
    pub fn latest_session(&self, name: &str, who: RunUser) -> Option<&Session> {
        self.sessions.iter().rev().find(|session| {
            self.records.iter().any(|record| {
                record.label.session == session.session
                    && record.label.name == name
                    && record.label.who == who
                    && record.label.arm != Arm::Bare
            })
        })
    }

    /// Blocks of `name` in `session` that have a good run of each of `arms`.
    pub fn complete_blocks(
        &self,
        session: &str,
        name: &str,
        arms: &[(RunUser, Arm)],
    ) -> BTreeSet<u32> {
        let mut seen: BTreeMap<u32, BTreeSet<(RunUser, Arm)>> = BTreeMap::new();
        for record in &self.records {
            let label = &record.label;
            if label.session == session && label.name == name && record.failure.is_none() {
                seen.entry(label.block).or_default().insert((label.who, label.arm));
            }
        }
        let whole = |have: &BTreeSet<(RunUser, Arm)>| arms.iter().all(|arm| have.contains(arm));
        seen.into_iter().filter(|(_, have)| whole(have)).map(|(block, _)| block).collect()
    }
}

fn append_line(path: &Path, line: &ResultLine) -> Result<()> {
    let mut text = serde_json::to_string(line).map_err(std::io::Error::from)?;
    text.push('\n');
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context("create", parent)?;
    }
    let mut file =
        OpenOptions::new().create(true).append(true).open(path).with_context("open", path)?;
    file.write_all(text.as_bytes()).with_context("append to", path)
}

/// Saves the beginning of a session.
pub fn save_session(path: &Path, session: &Session) -> Result<()> {
    append_line(path, &ResultLine::Session(session.clone()))
}

/// Saves one run.
pub fn save_record(path: &Path, record: &RunRecord) -> Result<()> {
    append_line(path, &ResultLine::Record(record.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(block: u32, arm: Arm, failure: Option<&str>) -> RunRecord {
        let label = RunLabel {
            session: "s".to_owned(),
            name: "n".to_owned(),
            who: RunUser::Root,
            arm,
            block,
            order: 0,
        };
        RunRecord {
            label,
            at_unix: 1,
            ended: CommandOutcome::default(),
            measured: None,
            requests: BTreeMap::from([("lookup".to_owned(), 3)]),
            failure: failure.map(str::to_owned),
        }
    }

    #[test]
    fn lines_come_back_and_a_torn_one_is_skipped() {
        let path = std::env::temp_dir().join(format!("forebay-bench-{}.jsonl", std::process::id()));
        save_record(&path, &record(0, Arm::Bare, None)).expect("appending");
        save_record(&path, &record(0, Arm::EveryRead, None)).expect("appending");
        let mut file = OpenOptions::new().append(true).open(&path).expect("the file");
        file.write_all(b"{\"line\":\"record\",\"sess").expect("appending half a line");
        let saved = SavedResults::load(&path).expect("reading");
        assert_eq!(saved.records.len(), 2);
        assert_eq!(saved.records[1], record(0, Arm::EveryRead, None));
        std::fs::remove_file(&path).expect("removing");
    }

    #[test]
    fn a_block_is_complete_when_each_arm_has_a_good_run() {
        let records = vec![
            record(0, Arm::Bare, None),
            record(0, Arm::Covered, None),
            record(1, Arm::Bare, None),
            record(1, Arm::Covered, Some("killed")),
        ];
        let saved = SavedResults { sessions: Vec::new(), records };
        let arms = [(RunUser::Root, Arm::Bare), (RunUser::Root, Arm::Covered)];
        assert_eq!(saved.complete_blocks("s", "n", &arms), BTreeSet::from([0]));
    }
}
