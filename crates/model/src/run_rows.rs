//! Rows of a run file, as they are read. What they are rows of is in `run/schema.sql`.

use crate::event::{ClassId, Op, OpKey, OpenSession, ProcessCounters, ProcessId, TreeId};
use crate::{ByteCount, Micros};
use std::cmp::Ordering;

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
    /// The node that it ran on, if the run was joined of several nodes' run files.
    pub node: Option<String>,
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
pub struct UnrelatedProcesses {
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
    pub open: OpenSession,
}

/// What a process waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoWait {
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
    /// What they are.
    pub kind: OpKind,
    /// Answered requests.
    pub count: u64,
    /// Of these with an error.
    pub failed: u64,
    /// Time, summed.
    pub time: Micros,
    /// Bytes moved.
    pub bytes: ByteCount,
}

/// The kind of an operation, and for data operations their size and pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// One that this Forebay knows.
    Known(OpKey),
    /// One of a newer Forebay, or without what this one needs to know.
    Foreign(Box<ForeignOp>),
}

/// The names of a kind as they are in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignOp {
    op: String,
    size: Option<String>,
    pattern: Option<String>,
}

impl OpKind {
    /// The kind with these names in a run file.
    pub fn from_names(op: String, size: Option<String>, pattern: Option<String>) -> OpKind {
        match OpKey::from_names(&op, size.as_deref(), pattern.as_deref()) {
            Some(key) => OpKind::Known(key),
            None => OpKind::Foreign(Box::new(ForeignOp { op, size, pattern })),
        }
    }

    /// The operation; `None`: this Forebay does not know it.
    pub fn op(&self) -> Option<Op> {
        match self {
            OpKind::Known(key) => Some(key.op()),
            OpKind::Foreign(names) => Op::from_name(&names.op),
        }
    }

    /// The operation with size and pattern; `None`: this Forebay does not know all of it.
    pub fn key(&self) -> Option<OpKey> {
        match self {
            OpKind::Known(key) => Some(*key),
            OpKind::Foreign(_) => None,
        }
    }

    /// The operation's name.
    pub fn name(&self) -> &str {
        match self {
            OpKind::Known(key) => key.op().name(),
            OpKind::Foreign(names) => &names.op,
        }
    }

    /// The size class's name, for data operations.
    pub fn size_name(&self) -> Option<&str> {
        match self {
            OpKind::Known(key) => key.size().map(|size| size.name()),
            OpKind::Foreign(names) => names.size.as_deref(),
        }
    }

    /// The pattern's name, for data operations.
    pub fn pattern_name(&self) -> Option<&str> {
        match self {
            OpKind::Known(key) => key.pattern().map(|pattern| pattern.name()),
            OpKind::Foreign(names) => names.pattern.as_deref(),
        }
    }

    fn names(&self) -> (&str, Option<&str>, Option<&str>) {
        (self.name(), self.size_name(), self.pattern_name())
    }
}

/// By their names, so that a kind that becomes known stays where it was.
impl Ord for OpKind {
    fn cmp(&self, other: &OpKind) -> Ordering {
        self.names().cmp(&other.names())
    }
}

impl PartialOrd for OpKind {
    fn partial_cmp(&self, other: &OpKind) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, operations of a newer Forebay count as others, or are lost.
    use super::*;

    fn kind(op: &str, size: Option<&str>, pattern: Option<&str>) -> OpKind {
        OpKind::from_names(op.to_owned(), size.map(str::to_owned), pattern.map(str::to_owned))
    }

    #[test]
    fn kinds_keep_their_names_whether_they_are_known_or_not() {
        let names = [
            ("read", Some("4K"), Some("random")),
            ("rename", None, None),
            ("write", None, None),
            ("teleport", Some("1K"), Some("backwards")),
        ];
        for (op, size, pattern) in names {
            let kind = kind(op, size, pattern);
            assert_eq!(kind.names(), (op, size, pattern));
        }
        assert_eq!(kind("write", None, None).op(), Some(Op::Write));
        assert_eq!(kind("write", None, None).key(), None, "of which size?");
        assert_eq!(kind("teleport", None, None).op(), None);
        assert!(kind("rename", None, None) < kind("teleport", None, None));
    }
}
