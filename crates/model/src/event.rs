//! Facts: the vocabulary in which a run is told. Plain data; the volume (or a simulator) writes
//! them, [`RunWriter`](crate::RunWriter) keeps them, and every view is a fold over them.
//!
//! Times are [`Micros`] from the start of the run. Paths are bytes, relative to their tree, without
//! a leading `/`. What was not seen is `None`, never 0.

mod op;

pub use op::{AccessPattern, Op, OpGroup, OpKey, SizeClass};

use crate::units::{ByteCount, Micros};
use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident($of:ty);)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize,
            Deserialize,
        )]
        #[serde(transparent)]
        pub struct $id(pub $of);
    )*};
}

ids! {
    /// A process of the run. Given by the recorder, never reused (unlike a pid).
    ProcessId(u32);
    /// A file of the run, by name when first seen; given by the recorder.
    FileId(u32);
    /// A class of file names; see [`file_classes`](crate::file_classes).
    ClassId(u32);
    /// A covered tree: one directory on one file system.
    TreeId(u16);
}

/// One thing that was observed.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A tree was covered.
    Tree(DirectoryTree),
    /// A process was met, or met again after `exec`: the latest wins, the first start counts.
    Process(Process),
    /// What a process and its waited-for children have used so far: the latest wins.
    ProcessCounters(ProcessCounters),
    /// What else a process has used so far: the most of each counts.
    ProcessUsage(ProcessUsage),
    /// A process came in from elsewhere: neither the command nor anything that it started.
    Stranger {
        /// Which.
        id: ProcessId,
    },
    /// A task that nobody has to recognise among processes.
    Task(ReportedTask),
    /// A process was seen to be gone.
    ProcessEnded {
        /// Which.
        id: ProcessId,
        /// When it was noticed.
        at: Micros,
    },
    /// A class of file names.
    Class {
        /// Which.
        id: ClassId,
        /// What [`class_of`](crate::file_classes::class_of) said.
        pattern: String,
    },
    /// A file got its name (again after a rename: the latest wins).
    File(FileRecord),
    /// The last name of a file was removed.
    Gone {
        /// Which.
        id: FileId,
        /// When.
        at: Micros,
    },
    /// A name was removed of a file that this record does not know: another one may know it.
    Removed {
        /// Where.
        tree: TreeId,
        /// Relative to it.
        path: Vec<u8>,
        /// When; `None`: another file got the name since, by a rename or a link.
        at: Option<Micros>,
    },
    /// An open file was closed, or is still open at the end of the run.
    Open(OpenSession),
    /// Operations that were answered since the last such fact: summed.
    Ops(OpDelta),
    /// The state of the machine at one moment.
    Sample(MachineSample),
    /// A file outside the covered trees was seen open: the largest size for each counts.
    Outside(OutsideFile),
    /// A small control file of a workflow engine, as it was closed.
    EngineFile(EngineFile),
    /// The command ended.
    Ended(RunEnd),
}

/// A covered directory, or a directory on a tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryTree {
    /// Its number.
    pub id: TreeId,
    /// Absolute path.
    pub path: Vec<u8>,
    /// Type of the file system below, such as `ext4`, `nfs4`, `lustre`.
    pub fs_type: String,
    /// Reads and writes may go past Forebay (kernel passthrough), so their bytes are not seen.
    pub passthrough: bool,
    /// The device or export below, such as `/dev/vda1` or `filer:/home`, if known.
    pub device: Option<String>,
    /// For a directory on a tier to which rules send files: the tier's name.
    pub tier: Option<String>,
}

/// A process, as it was when it was met (or after its latest `exec`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number in the run.
    pub id: ProcessId,
    /// Its pid, which the kernel may give again later.
    pub pid: u32,
    /// The process that started it, if that is part of the run.
    pub parent: Option<ProcessId>,
    /// When the kernel started it.
    pub started: Micros,
    /// Its words; empty when they could not be read.
    pub argv: Vec<Vec<u8>>,
    /// The program file.
    pub exe: Option<Vec<u8>>,
    /// The working directory, absolute.
    pub cwd: Option<Vec<u8>>,
}

/// What a process has used since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessCounters {
    /// Which process.
    pub id: ProcessId,
    /// When it was read.
    pub at: Micros,
    /// CPU in programs.
    pub user: Micros,
    /// CPU in the kernel.
    pub system: Micros,
    /// CPU in programs, of children that ended and were waited for (and theirs).
    pub children_user: Micros,
    /// CPU in the kernel, of those children.
    pub children_system: Micros,
    /// Bytes, when the kernel lets us read them.
    pub io: Option<ProcessIo>,
}

/// What a process has used besides CPU and bytes, as far as it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Which process.
    pub id: ProcessId,
    /// How long its threads were ready to compute while all CPUs were taken.
    pub cpu_wait: Option<Micros>,
    /// The most memory that it held at a time.
    pub memory_peak: Option<ByteCount>,
}

/// `/proc/PID/io`: an upper bound for what a process moved through files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes that read calls returned, pipes and terminals included.
    pub rchar: ByteCount,
    /// Bytes that write calls took, pipes and terminals included.
    pub wchar: ByteCount,
    /// Bytes fetched from storage on its behalf.
    pub read_bytes: ByteCount,
    /// Bytes sent to storage on its behalf.
    pub write_bytes: ByteCount,
}

/// A task as a simulator or another tool's records tell it, in a run whose
/// [`RunOrigin`](crate::RunOrigin) says so: no others are looked for there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedTask {
    /// The process that stands for all of it: its opens and operations name it. Its number is the
    /// task's, too.
    pub process: ProcessId,
    /// Process, rule or program.
    pub name: String,
    /// The engine that ran it, or the policy that a simulator had.
    pub engine: String,
    /// What tells it from others of its name.
    pub key: Option<String>,
    /// It only starts others.
    pub driver: bool,
    /// Tasks that it is told to have waited for.
    pub after: Vec<ProcessId>,
    /// Start.
    pub started: Option<Micros>,
    /// End.
    pub ended: Option<Micros>,
    /// Status.
    pub exit_status: Option<i64>,
    /// CPU in programs.
    pub cpu_user: Option<Micros>,
    /// CPU in the kernel.
    pub cpu_system: Option<Micros>,
    /// Bytes read at most.
    pub rchar: Option<ByteCount>,
    /// Bytes written at most.
    pub wchar: Option<ByteCount>,
    /// How long it waited for storage, where no operations are told.
    pub waited: Option<Micros>,
    /// Cores that it was given.
    pub cores: Option<u32>,
    /// The most memory that it took.
    pub memory: Option<ByteCount>,
}

/// A file by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRecord {
    /// Its number.
    pub id: FileId,
    /// The tree it is in.
    pub tree: TreeId,
    /// Its path in the tree.
    pub path: Vec<u8>,
    /// The class of that path.
    pub class: ClassId,
    /// The tier that holds its bytes, when a rule sent it there.
    pub home: Option<TreeId>,
}

/// Bytes moved and calls made through one open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCount {
    /// Bytes.
    pub bytes: ByteCount,
    /// Calls, as they reached the volume (the kernel may merge or split them).
    pub calls: u64,
}

/// One open file from open to close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSession {
    /// Who opened it.
    pub process: ProcessId,
    /// Which file.
    pub file: FileId,
    /// Open for writing.
    pub write: bool,
    /// This open made the file.
    pub created: bool,
    /// When it was opened.
    pub opened: Micros,
    /// When it was closed; `None` if it was still open at the end.
    pub closed: Option<Micros>,
    /// What was read through it; `None` if not seen.
    pub read: Option<IoCount>,
    /// What was written through it; `None` if not seen.
    pub wrote: Option<IoCount>,
    /// Size of the file when it was opened.
    pub size_at_open: Option<ByteCount>,
    /// Size of the file when it was closed.
    pub size_at_close: Option<ByteCount>,
    /// Reads and writes went past Forebay (passthrough or shared mapping).
    pub hidden: bool,
    /// The tree of the tier from whose copy it was read; `None`: from where the file lives.
    pub copy: Option<TreeId>,
}

impl OpenSession {
    /// It read the file: bytes were seen, or nobody saw them and it was opened only to read it.
    pub fn has_read(&self) -> bool {
        self.read.map_or(!self.write, |io| io.bytes > ByteCount::ZERO)
    }

    /// It wrote the file, as far as is known.
    pub fn has_written(&self) -> bool {
        self.created || self.write && self.wrote.is_none_or(|io| io.bytes > ByteCount::ZERO)
    }
}

/// Counters of one kind of operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpCount {
    /// Answered requests, failed ones included.
    pub count: u64,
    /// Time from request to answer, without the answer's own way back, summed, in nanoseconds.
    pub nanos: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Requests answered with an error (a failed look-up is its own kind and not counted here).
    pub failed: u64,
}

impl OpCount {
    /// Adds `other` to this.
    #[inline]
    pub fn add_counts(&mut self, other: &Self) {
        self.count += other.count;
        self.nanos += other.nanos;
        self.bytes += other.bytes;
        self.failed += other.failed;
    }

    /// Nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Operations of one process on one class of files, since the last such fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpDelta {
    /// Who asked; `None` when the kernel does not say (write-back, release).
    pub process: Option<ProcessId>,
    /// The class of the file it was about (for a failed look-up: of the name that was not there).
    pub class: ClassId,
    /// The tree it was in.
    pub tree: TreeId,
    /// The kind.
    pub key: OpKey,
    /// How many, how long.
    pub count: OpCount,
}

/// The state of the machine at one moment; counters are differences since the last sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineSample {
    /// When.
    pub at: Micros,
    /// CPU time of all cores.
    pub cpu: CpuSample,
    /// Memory at this moment.
    pub memory: MemorySample,
    /// Block devices.
    pub devices: Vec<DeviceSample>,
    /// Network interfaces.
    pub networks: Vec<NetworkSample>,
    /// Pressure on I/O; `None` when the kernel does not account it.
    pub pressure: Option<PressureSample>,
}

/// CPU time of all cores since the last sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// In programs.
    pub user: Micros,
    /// In the kernel.
    pub system: Micros,
    /// Idle while a request to storage was under way.
    pub iowait: Micros,
    /// Idle.
    pub idle: Micros,
    /// Taken by other machines on the host.
    pub steal: Micros,
}

/// Memory of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemorySample {
    /// All of it.
    pub total: ByteCount,
    /// What programs could still get.
    pub available: ByteCount,
    /// Written by programs, not yet sent to storage.
    pub dirty: ByteCount,
    /// On its way to storage.
    pub writeback: ByteCount,
    /// Page cache.
    pub cached: ByteCount,
}

/// A block device since the last sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSample {
    /// Kernel name, such as `nvme0n1`.
    pub name: String,
    /// Bytes read.
    pub read: ByteCount,
    /// Bytes written.
    pub written: ByteCount,
    /// Read requests completed.
    pub reads: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Time with at least one request under way.
    pub busy: Micros,
}

/// A network interface since the last sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkSample {
    /// Kernel name, such as `eth0`.
    pub name: String,
    /// Bytes that came.
    pub received: ByteCount,
    /// Bytes that went.
    pub sent: ByteCount,
}

/// `/proc/pressure/io` since the last sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PressureSample {
    /// Time in which some task waited for I/O.
    pub some: Micros,
    /// Time in which all tasks waited for I/O.
    pub full: Micros,
}

/// A regular file outside the covered trees, held open by a process of the run, seen by sampling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideFile {
    /// Who holds it.
    pub process: ProcessId,
    /// Its directory, absolute.
    pub directory: Vec<u8>,
    /// How far the process is in it, or its size: what is known of the bytes moved.
    pub bytes: ByteCount,
    /// Open for writing.
    pub write: bool,
}

/// A small control file of a workflow engine; see
/// [`is_control_file`](crate::tasks::is_control_file).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFile {
    /// The tree it is in.
    pub tree: TreeId,
    /// Its path in the tree.
    pub path: Vec<u8>,
    /// What it held; the first 64 KiB are enough.
    pub content: Vec<u8>,
    /// When it was closed.
    pub at: Micros,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandExit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// The end of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// When.
    pub at: Micros,
    /// Its status; `None` if nobody could wait for it.
    pub exit: Option<CommandExit>,
    /// CPU in programs of the command and all its descendants, if known.
    pub cpu_user: Option<Micros>,
    /// CPU in the kernel of the command and all its descendants, if known.
    pub cpu_system: Option<Micros>,
    /// Nothing is missing: no process was left running, no fact was dropped.
    pub complete: bool,
}
