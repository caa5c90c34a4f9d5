//! What a daemon does just now: plain data, one JSON message. Amounts are bytes, times are microseconds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::CacheReport;

/// Raised when a figure changes its meaning.
pub const SCHEMA: u32 = 1;

/// What a daemon serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DaemonKind {
    /// A command.
    #[default]
    Run,
    /// A directory, for all who may.
    Mount,
    /// A volume in a bucket, as its writer.
    Bucket,
    /// The same, as a reader.
    BucketReader,
}

/// A daemon, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveStatus {
    /// [`SCHEMA`] of the daemon's Forebay.
    pub schema: u32,
    /// The daemon's process.
    pub pid: u32,
    /// It serves a mount for all, not a command.
    pub lasting: bool,
    /// The command's words, if it has one.
    pub command: Vec<String>,
    /// Where its directories are seen.
    pub points: Vec<PathBuf>,
    /// Since the daemon began.
    pub at_us: u64,
    /// Processes and tasks are known: somebody asked for a record.
    pub recorded: bool,
    /// Bytes may go past Forebay (kernel passthrough), and are not in these figures then.
    pub passthrough: bool,
    /// Operations on names and attributes.
    pub names: OperationTotals,
    /// Reads and writes.
    pub data: OperationTotals,
    /// What makes bytes durable.
    pub syncs: OperationTotals,
    /// Bytes that passed Forebay.
    pub read: u64,
    /// The same, written.
    pub written: u64,
    /// Covered directories and tiers.
    pub tiers: Vec<TierStatus>,
    /// What runs, by task.
    pub tasks: Vec<TaskStatus>,
    /// Files that are open, and those that were used much lately.
    pub files: Vec<FileStatus>,
    /// Files that came home while programs went on, and their bytes.
    pub drained: (u64, u64),
    /// Copies near readers; `None`: no rule has a cache.
    pub cache: Option<CacheReport>,
    /// A volume that a bucket keeps.
    pub bucket: Option<BucketStatus>,
    /// Nodes that share what they read of buckets; `None`: it was given none.
    #[serde(default)]
    pub peers: Option<PeerStatus>,
    /// How this node of a shared volume is; `None`: it serves none.
    #[serde(default)]
    pub shared: Option<SharedStatus>,
    /// What a person should know.
    pub warnings: Vec<String>,
    /// What it serves.
    #[serde(default)]
    pub kind: DaemonKind,
    /// The directory that it shows, or the first of them, or `s3://BUCKET/PREFIX`.
    #[serde(default)]
    pub volume: String,
    /// Requests that failed by no fault of who asked (EIO, ENOSPC, ...), by error.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// When the last of them was, since the daemon began; those of files that others took away
    /// (ESTALE) are left out.
    #[serde(default)]
    pub last_error_us: Option<u64>,
    /// Of the warnings, those that say that it does not do all that it should just now.
    #[serde(default)]
    pub ailing: Vec<String>,
    /// Where its log is.
    #[serde(default)]
    pub log: Option<PathBuf>,
}

/// Operations of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationTotals {
    /// How many.
    pub count: u64,
    /// From request to answer, summed.
    pub time_us: u64,
}

/// A covered directory, or a directory on a tier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierStatus {
    /// The tier's name; `None`: a covered directory.
    pub tier: Option<String>,
    /// Where it is.
    pub path: PathBuf,
    /// What this volume holds there; `None` for a covered directory.
    pub used: Option<u64>,
    /// What it may hold; `None`: as much as there is room.
    pub limit: Option<u64>,
    /// Room of the file system.
    pub room: Option<u64>,
    /// Of that, what is free.
    pub free: Option<u64>,
}

/// All living processes of one task's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// As the table of tasks will call it.
    pub name: String,
    /// How many processes.
    pub processes: u64,
    /// Of these, how many wait for storage (state D).
    pub waiting: u64,
    /// CPU that they have used.
    pub cpu_us: u64,
    /// Bytes from read calls, pipes included; `None`: not known.
    pub read: Option<u64>,
    /// Bytes to write calls, pipes included; `None`: not known.
    pub written: Option<u64>,
}

/// A file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStatus {
    /// Path in its directory; what is not UTF-8 is replaced.
    pub path: String,
    /// How many have it open.
    pub open: u64,
    /// How often it was opened.
    pub opens: u64,
    /// Bytes that passed Forebay.
    pub read: u64,
    /// The same, written.
    pub written: u64,
}

/// A volume that a bucket keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketStatus {
    /// `s3://BUCKET/PREFIX`
    pub url: String,
    /// Names that changed and were not looked at yet.
    pub changed: u64,
    /// Files on their way, and their bytes.
    pub queued: (u64, u64),
    /// Objects that were written, and their bytes.
    pub shipped: (u64, u64),
    /// Why the bucket can't be used just now; `None`: it answered when it was asked last.
    pub trouble: Option<String>,
    /// Why nothing comes into it any more.
    pub lost: Option<String>,
    /// For how long the oldest change has waited that is not in the bucket; `None`: nothing waits.
    #[serde(default)]
    pub lag_us: Option<u64>,
    /// Bytes that its files took on this machine when they were looked at last; `None`: there was no
    /// need yet.
    #[serde(default)]
    pub here: Option<u64>,
}

/// A node of a volume that several nodes write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedStatus {
    /// Folders that this node holds: it alone changes them.
    pub folders: u64,
    /// Names in them that are in memory.
    pub names: u64,
    /// For how long it may change them without an answer of the book; 0: it may not now.
    pub lease_us: u64,
    /// Changes that the book does not have yet.
    pub unpublished: u64,
    /// Transactions that the book took, since the daemon began.
    pub publications: u64,
    /// Folders that were taken from others or from nobody, and those that others got.
    pub taken: u64,
    /// The same, given up.
    pub given_up: u64,
    /// Changes that were lost, since others took over while this node was away.
    pub lost: u64,
    /// Long files that are on this node alone, and their bytes.
    pub owed: (u64, u64),
    /// Long files that were brought to the bucket or directory, and their bytes.
    pub brought: (u64, u64),
}

/// What a node and its peers gave each other, since the daemon began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// How many there are, this node too if it answers.
    pub peers: u64,
    /// What the others call this one; `None`: it only asks.
    pub own: Option<String>,
    /// Bytes of files that came from peers.
    pub from_peers: u64,
    /// Bytes that came from buckets: for this node, and parts that it fetched for all.
    pub from_bucket: u64,
    /// Bytes that peers took from this node.
    pub to_peers: u64,
    /// Bytes of parts that are kept for all, and how many there may be.
    pub kept: u64,
    /// The same at most.
    pub space: u64,
    /// Who is away now and why, a sentence each.
    pub away: Vec<String>,
    /// All that were, those that are well again too.
    pub troubles: Vec<PeerTrouble>,
}

/// What a peer did wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerTrouble {
    /// Its name.
    pub peer: String,
    /// How often it was left alone for a while.
    pub times: u64,
    /// What it did the last time, which goes on from its name.
    pub why: String,
}
