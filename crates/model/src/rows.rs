//! Rows of a run file, as they are read. What they are rows of is in `run/schema.sql`.

use crate::event::{ClassId, Open, ProcessCounters, ProcessId, TreeId};
use crate::{ByteCount, Micros};

/// A task, as folded when the run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskRow {
    /// Its number in the run.
    pub id: u32,
    /// Process, rule or program.
    pub name: String,
    /// What recognised it.
    pub engine: String,
    /// What tells it from others of its name.
    pub key: Option<String>,
    /// It only starts the others (a shell, an engine).
    pub driver: bool,
    /// Start.
    pub started: Option<Micros>,
    /// End.
    pub ended: Option<Micros>,
    /// Status, if known.
    pub exit_status: Option<i64>,
    /// How many processes took part.
    pub processes: u64,
    /// CPU in programs, if known.
    pub cpu_user: Option<Micros>,
    /// CPU in the kernel, if known.
    pub cpu_system: Option<Micros>,
    /// Bytes read at most, if known.
    pub rchar_upper: Option<ByteCount>,
    /// Bytes written at most, if known.
    pub wchar_upper: Option<ByteCount>,
    /// Time of its operations, summed, if known.
    pub waited: Option<Micros>,
    /// Cores that it was given, if told.
    pub cores: Option<u32>,
    /// The most memory that it took, if told.
    pub memory: Option<ByteCount>,
    /// How long it was ready to compute while all CPUs were taken, threads summed; if known.
    pub cpu_wait: Option<Micros>,
    /// The most memory that one of its processes was seen to hold; if known.
    pub memory_peak: Option<ByteCount>,
}

/// A process with what was last known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessRow {
    /// Its number in the run.
    pub id: ProcessId,
    /// Its pid.
    pub pid: Option<u32>,
    /// Who started it.
    pub parent: Option<ProcessId>,
    /// The task it belongs to.
    pub task: Option<u32>,
    /// Start.
    pub started: Option<Micros>,
    /// When it was seen to be gone.
    pub ended: Option<Micros>,
    /// Its words, secrets masked; empty if not seen or left out.
    pub argv: Vec<Vec<u8>>,
    /// The program file.
    pub exe: Option<Vec<u8>>,
    /// The working directory.
    pub cwd: Option<Vec<u8>>,
    /// What it used.
    pub counters: Option<ProcessCounters>,
    /// It came in from elsewhere: no part of the run started it.
    pub stranger: bool,
}

/// Processes that no part of the run started, and that used its files all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// How many.
    pub processes: u64,
    /// Operations that were answered.
    pub operations: u64,
    /// How long they took, summed.
    pub waited: Micros,
    /// Bytes that their operations moved: at least so many.
    pub read: ByteCount,
    /// The same, written.
    pub written: ByteCount,
}

/// An open file with the task that opened it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRow {
    /// The task of the process; `None` if that belongs to none.
    pub task: Option<u32>,
    /// The rest.
    pub open: Open,
}

/// What a process waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// From request to answer, summed.
    pub nanos: u64,
    /// Requests for which it waited.
    pub requests: u64,
}

/// Operations of one task on one class of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpRow {
    /// Who; `None`: not known.
    pub task: Option<u32>,
    /// In which tree.
    pub tree: TreeId,
    /// On which class of files.
    pub class: ClassId,
    /// The kind, as named in the file (a newer Forebay may know more kinds).
    pub op: String,
    /// Size class, for data operations.
    pub size_class: Option<String>,
    /// Pattern, for data operations.
    pub pattern: Option<String>,
    /// Answered requests.
    pub count: u64,
    /// Of these with an error.
    pub failed: u64,
    /// Time, summed.
    pub time: Micros,
    /// Bytes moved.
    pub bytes: ByteCount,
}
