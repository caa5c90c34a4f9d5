//! What there is to do: tasks, the files that they read and write, and what waits for what. It
//! says nothing of where files live or when tasks run: that is what a plan chooses.
//!
//! It is learnt from a run, imported from another tool's records, or written by hand from what a
//! paper states. Tasks, kinds, classes and files refer to each other by their place in their list.
//! What it is not: placed, scheduled, or timed as a whole.

use crate::event::{Op, OpKey};
use crate::units::{ByteCount, Seconds};

macro_rules! places {
    ($($(#[$doc:meta])* $id:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $id(pub u32);

        impl $id {
            /// The place as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

places! {
    /// A place in [`Workload::classes`].
    FileClassId;
    /// A place in [`Workload::files`].
    FileSetId;
    /// A place in [`Workload::kinds`].
    TaskKindId;
    /// A place in [`Workload::tasks`].
    TaskId;
}

/// Tasks, and the files between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// What people call it.
    pub name: String,
    /// Kinds of files, as rules can tell them apart.
    pub classes: Vec<FileClass>,
    /// The files.
    pub files: Vec<FileSet>,
    /// Kinds of tasks.
    pub kinds: Vec<TaskKind>,
    /// The tasks; a task comes after all that it waits for.
    pub tasks: Vec<Task>,
    /// They are in the order in which an engine started them, and of those that wait at once it would
    /// take the earlier one again. If not, the one that became ready first.
    pub ordered: bool,
    /// What is not known for sure, and how much that may matter.
    pub doubts: Vec<Assumption>,
}

/// Files with one kind of name: a rule is written for a class, and all its files share a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileClass {
    /// Such as `map/#.bwa.sam`; see [`file_classes`](crate::file_classes).
    pub pattern: String,
    /// The path of one of them, relative to the project: what rules are asked about.
    pub example: Vec<u8>,
    /// Under which names programs make such files before they rename them.
    pub passing_names: Vec<PassingName>,
    /// In how many directories they lie; 0: not known.
    pub directories: u64,
}

impl FileClass {
    /// A class whose files are made under their names, in nobody knows how many directories.
    #[must_use]
    pub fn new(pattern: String, example: Vec<u8>) -> FileClass {
        FileClass { pattern, example, passing_names: Vec::new(), directories: 0 }
    }

    /// The pattern of the directories that they lie in; empty: the project's own.
    pub fn parent_pattern(&self) -> &str {
        self.pattern.rsplit_once('/').map_or("", |(parent, _)| parent)
    }
}

/// A kind of name that files have until they are whole, such as `bam/#.bam.tmp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassingName {
    /// As of [`FileClass`].
    pub pattern: String,
    /// As of [`FileClass`].
    pub example: Vec<u8>,
}

/// Files of one class that are made, read and freed together: one, or the 87 parts that one task
/// scatters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSet {
    /// Their class.
    pub class: FileClassId,
    /// How many files; none: their names are looked for, and nobody opens one.
    pub count: u64,
    /// Their size, all together, when they are whole.
    pub bytes: ByteCount,
    /// Until when they take room.
    pub until: DeletionPoint,
}

/// When files are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionPoint {
    /// Never: an input, or a result.
    End,
    /// When this task is done.
    Task(TaskId),
    /// When this step of this task is done, counted from 0.
    Step(TaskId, u32),
}

/// Tasks of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskKind {
    /// Process, rule or program.
    pub name: String,
    /// Cores that one takes. 0: it only joins others, takes no slot and no time.
    pub cores: u32,
    /// Memory that one takes; `None`: not known.
    pub memory: Option<ByteCount>,
}

/// One task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its kind.
    pub kind: TaskKindId,
    /// What tells it from others of its kind.
    pub key: Option<String>,
    /// All that must be done before it starts, each earlier in the list.
    pub after: Vec<TaskId>,
    /// What it does, one after the other.
    pub steps: Vec<TaskStep>,
}

/// A command of a task, or a part of one: it computes and does I/O by turns, in small pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskStep {
    /// The program.
    pub name: String,
    /// Time that it would take if storage took none.
    pub compute: Seconds,
    /// What it does to files.
    pub accesses: Vec<FileSetAccess>,
}

/// What one step does to one set of files, all together.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSetAccess {
    /// Which files.
    pub files: FileSetId,
    /// Operations and how many of each, reads and writes of bytes included.
    pub ops: Vec<(OpKey, f64)>,
    /// Bytes that it reads.
    pub read: ByteCount,
    /// Bytes that it writes.
    pub written: ByteCount,
}

impl FileSetAccess {
    /// Whether files come to be by it, or get other bytes: an empty file is made, too.
    pub fn makes_files(&self) -> bool {
        let makes = |op| matches!(op, Op::Create | Op::Mknod | Op::Write);
        self.written > ByteCount::ZERO
            || self.ops.iter().any(|(key, count)| *count > 0.0 && makes(key.op()))
    }
}

/// Something that a prediction rests on and nobody measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Assumption {
    /// In a sentence.
    pub what: String,
    /// By how much the predicted time may be wrong because of it: 0.1 is 10 % either way.
    pub share: f64,
    /// Of which part of that time.
    pub concerns: TimePart,
}

/// A part of the time that a run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimePart {
    /// All of it.
    #[default]
    Whole,
    /// That in which tasks do not wait for storage.
    Computing,
}

mod validation;
mod workload_parser;

pub use validation::WorkloadError;

#[cfg(test)]
mod tests;
