//! What a run comes to, for people and for `--json`: one fold over a [`Run`].
//!
//! The serialised form of [`Summary`] is the JSON of `forebay run --json`: times are microseconds,
//! amounts are bytes, `null` is "not seen". What it is not: it prints nothing and lays out nothing.

mod advice;
mod machine_summary;
mod open_file_sums;
mod outside_summary;
mod run_aggregation;
mod task_figures;
mod task_summary;
mod time;

pub use machine_summary::{DiskSummary, MachineSummary, NetworkSummary};
pub(crate) use open_file_sums::FileUse;
pub use task_figures::{TaskFigures, TierFigures};
pub use time::{StorageJudgement, StorageVerdict, TimeSplit, format_percent};

use crate::run::UnrelatedProcesses;
use crate::{ByteCount, CommandExit, Micros, OpGroup, Result, Run, RunOrigin};
use serde::Serialize;

/// What a run comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Whether it was measured, simulated, or told by another tool's records.
    pub origin: RunOrigin,
    /// The command's words; empty if left out.
    pub command: Vec<String>,
    /// From the start to the end of the command, or to the last sign of life.
    pub wall_us: Micros,
    /// How the command ended; `None` if that was not seen.
    pub exit: Option<CommandExit>,
    /// Nothing is missing.
    pub complete: bool,
    /// Tasks by name, costliest first, drivers last.
    pub tasks: Vec<TaskSummary>,
    /// What processes did that no part of the run started; in no other figure. `None`: nothing.
    pub others: Option<UnrelatedProcessSummary>,
    /// Covered trees.
    pub tiers: Vec<TierSummary>,
    /// Time of all operations on covered files, summed over parallel tasks.
    pub waited_us: Micros,
    /// The tasks' time, and what it was spent on; drivers and others are not in it.
    pub time: TimeSplit,
    /// Of that time the share that they waited for storage, 0 to 1; `None` if not known.
    pub waited_share: Option<f64>,
    /// Whether storage holds it up; `None` without a task.
    pub verdict: Option<StorageVerdict>,
    /// Bytes went past Forebay, so that waits for them are not in `waited_us`.
    pub hidden: bool,
    /// Share of the run in which some process of the machine, of the run or not, waited for I/O, by
    /// the kernel's account; 0 to 1.
    pub pressure_share: Option<f64>,
    /// The five classes of files that cost most time.
    pub classes: Vec<ClassSummary>,
    /// The five files that most bytes were moved for.
    pub files: Vec<FileSummary>,
    /// The kind of operation that cost most time.
    pub costliest: Option<OpSummary>,
    /// What went outside the covered trees.
    pub outside: OutsideSummary,
    /// Programs that took work to where Forebay does not look.
    pub not_seen: Vec<UnseenProgram>,
    /// Folders that were on tiers as a whole: nobody recorded what happened in them.
    pub whole_folders: u64,
    /// Events that were lost while the run was recorded: every count and sum is the least that
    /// happened.
    pub lost_events: u64,
    /// Rings of io_uring, whose requests were not seen.
    pub io_uring_rings: u64,
    /// Calls of 32-bit programs, which were not seen.
    pub calls_of_32_bits: u64,
    /// Descriptors that came from elsewhere: what went through them was not seen.
    pub strange_descriptors: u64,
    /// The recorder saw when operations were, not how long they took: all times of them are 0.
    pub times_not_seen: bool,
    /// CPU of the command and all its descendants; `None` if not known.
    pub cpu_us: Option<Micros>,
    /// Of that, what belongs to no task that was seen.
    pub cpu_unattributed_us: Option<Micros>,
    /// Where a joined run was recorded; empty for a run of one machine.
    pub nodes: Vec<NodeSummary>,
    /// Jobs that began on other nodes and left no record.
    pub jobs_not_recorded: u64,
    /// The machine that it ran on, and others that were sampled meanwhile.
    pub machines: Vec<MachineSummary>,
    /// What to try next.
    pub advice: Option<Advice>,
}

/// A node of a joined run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeSummary {
    /// Its name.
    pub name: String,
    /// Tasks that ran there, without drivers.
    pub tasks: u64,
    /// Their wall time, summed.
    pub wall_us: Micros,
    /// What was added to its times.
    pub clock_shift_us: i64,
}

/// Bytes as far as they were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByteBounds {
    /// The exact amount; `None` if some of it went past Forebay.
    pub seen: Option<ByteCount>,
    /// What is known for sure: what was seen, and by how much hidden files grew.
    pub at_least: ByteCount,
    /// No more than this, by `/proc` (pipes included); `None` if not known.
    pub at_most: Option<ByteCount>,
}

/// All tasks of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TaskSummary {
    /// Process, rule or program.
    pub name: String,
    /// What recognised it.
    pub engine: String,
    /// It only starts others.
    pub driver: bool,
    /// How many there were.
    pub count: u64,
    /// How many of them are known to have failed.
    pub failed: u64,
    /// Wall time, summed; `None` if no end was seen.
    pub wall_us: Option<Micros>,
    /// Wall time of the middle one.
    pub wall_median_us: Option<Micros>,
    /// CPU, summed; `None` if not known.
    pub cpu_us: Option<Micros>,
    /// The most memory that one of them took; `None` if not told.
    pub memory_bytes: Option<ByteCount>,
    /// Time of their operations, summed; `None` if not known.
    pub waited_us: Option<Micros>,
    /// Their wall time, and what it was spent on.
    pub time: TimeSplit,
    /// The most memory that one of their processes was seen to hold; `None` if not known.
    pub memory_peak_bytes: Option<ByteCount>,
    /// Bytes read.
    pub read: ByteBounds,
    /// Bytes written.
    pub written: ByteBounds,
    /// Different files that they opened.
    pub files: u64,
    /// Operations that were seen.
    pub operations: u64,
}

/// Processes of this machine that used files of the run and that no part of it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnrelatedProcessSummary {
    /// How many.
    pub processes: u64,
    /// Operations that were seen.
    pub operations: u64,
    /// Time of their operations, summed.
    pub waited_us: Micros,
    /// Bytes read, at least.
    pub read: ByteCount,
    /// Bytes written, at least.
    pub written: ByteCount,
}

impl From<UnrelatedProcesses> for UnrelatedProcessSummary {
    fn from(others: UnrelatedProcesses) -> Self {
        let UnrelatedProcesses { processes, operations, waited, read, written } = others;
        Self { processes, operations, waited_us: waited, read, written }
    }
}

/// A covered tree, or the directory on a tier to which rules sent files.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TierSummary {
    /// Absolute path.
    pub path: String,
    /// The tier's name; `None` for a covered tree.
    pub tier: Option<String>,
    /// Type of the file system below.
    pub fs_type: String,
    /// Bytes may go past Forebay.
    pub passthrough: bool,
    /// Bytes read.
    pub read: ByteBounds,
    /// Bytes written.
    pub written: ByteBounds,
    /// Different files that were opened.
    pub files: u64,
    /// Operations.
    pub operations: u64,
    /// Time of operations, summed over parallel tasks.
    pub time_us: Micros,
}

/// A class of files.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Such as `out/map/#.bam`.
    pub pattern: String,
    /// Different files of the class that were opened.
    pub files: u64,
    /// Operations.
    pub operations: u64,
    /// Time of operations, summed over parallel tasks.
    pub time_us: Micros,
    /// The kind of operation that took most of it.
    pub mostly: String,
}

/// One file.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileSummary {
    /// Path in its tree.
    pub path: String,
    /// How often it was opened.
    pub opens: u64,
    /// How many tasks opened it.
    pub tasks: u64,
    /// Its size when it was last seen; `None` if never.
    pub size: Option<ByteCount>,
    /// Bytes read.
    pub read: ByteBounds,
    /// Bytes written.
    pub written: ByteBounds,
}

/// A kind of operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpSummary {
    /// Its name.
    pub op: String,
    /// Size class, for data operations.
    pub size_class: Option<String>,
    /// Pattern, for data operations.
    pub pattern: Option<String>,
    /// What it is about; `None` for a kind that this Forebay does not know.
    pub group: Option<OpGroup>,
    /// How many.
    pub count: u64,
    /// Time, summed over parallel tasks.
    pub time_us: Micros,
    /// Share of the time of all operations, 0 to 1.
    pub share: f64,
}

/// What went outside the covered trees: by sampling, so a minimum.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutsideSummary {
    /// Bytes that were noticed (without programs and libraries).
    pub bytes: ByteCount,
    /// Their share of all bytes that were noticed; `None` when nothing was.
    pub share: Option<f64>,
    /// The directories with most of them.
    pub directories: Vec<OutsideDirectory>,
    /// `mv`, `ln` and `cp` whose source or destination was outside; `None` without command lines.
    pub moves: Option<u64>,
    /// All `mv`, `ln` and `cp`.
    pub moves_all: Option<u64>,
    /// What to give to `--at` so that the next run sees most of it.
    pub at: Option<String>,
}

/// A directory outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OutsideDirectory {
    /// Absolute path.
    pub path: String,
    /// Bytes that were noticed.
    pub bytes: ByteCount,
    /// Some were written.
    pub write: bool,
}

/// A program that took work elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UnseenProgram {
    /// Its name.
    pub program: String,
    /// How often it was started.
    pub count: u64,
}

/// One sentence: what to try next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The rule that found it.
    pub rule: String,
    /// Wall time that it may save, estimated; `None` where no time is at stake.
    pub saves_us: Option<Micros>,
    /// For people.
    pub sentence: String,
}

impl Summary {
    /// Adds a run up.
    ///
    /// # Errors
    /// [`Kind::Damaged`](crate::Kind::Damaged) or [`Kind::Io`](crate::Kind::Io) of the run file.
    pub fn from_run(run: &Run) -> Result<Self> {
        Self::with_other_machines(run, &[])
    }

    /// The same with what `forebay sample` saw elsewhere while it lasted.
    ///
    /// # Errors
    /// As [`from_run`](Summary::from_run).
    pub fn with_other_machines(run: &Run, others: &[Run]) -> Result<Self> {
        let mut summary = run_aggregation::summarize_run(run)?;
        let all = crate::align_machines(run, others)?;
        let known = all.iter().filter(|machine| !machine.samples.is_empty() || !others.is_empty());
        summary.machines = known.map(MachineSummary::from_machine).collect();
        Ok(summary)
    }
}

#[cfg(test)]
mod tests;
