//! What launcher and daemon say to each other, and what comes of a run or mount.

use std::path::PathBuf;

use forebay_model::Micros;
use serde::{Deserialize, Serialize};

/// From the front to the daemon.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToDaemon {
    /// The command could not be started: leave nothing.
    NotRun,
    /// The command runs, as this process.
    Began { command: u32 },
    /// It ended: status or signal, and CPU of it and all that it waited for, in microseconds.
    Ended { code: Option<i32>, signal: Option<i32>, user_us: u64, system_us: u64 },
    /// The volume can be reached; the device number of its mount.
    Mounted { major: u32, minor: u32 },
}

/// From the daemon to the front.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToLauncher {
    /// It can't serve; why.
    Failed { why: String },
    /// A lasting mount is served, and can be unmounted.
    Ready,
    /// Files come home.
    WriteBackProgress(WriteBackProgress),
    /// A program was started that sends work to other machines.
    SentAway { program: String },
    /// Something that whoever waits for the command should know now.
    Warning { text: String },
    /// A bucket does not take what is brought to it.
    Waits(BucketWaiting),
    /// All is over, or goes on without the front.
    /// `lingering` has the processes of a run that goes on, as far as they are known.
    Over {
        run: Option<String>,
        lingering: Option<Vec<u32>>,
        warnings: Vec<String>,
        homecomings: Vec<WriteBackReport>,
        shipped: Option<UploadReport>,
    },
}

/// What became of the files of one covered directory that lay on other tiers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WriteBackReport {
    /// The directory.
    pub directory: PathBuf,
    /// Files, and their bytes, that are plain files in place again.
    pub brought: (u64, u64),
    /// Files, and their bytes, that a rule discarded.
    pub discarded: (u64, u64),
    /// Files, and their bytes, that a rule keeps on their tier.
    pub kept: (u64, u64),
    /// Files that could not be written back: how many, and why the first could not.
    pub left: (u64, String),
    /// Files whose bytes are gone from their tier: how many, and the first.
    pub lost: (u64, String),
    /// Bodies on tiers to which no link leads.
    pub nameless: u64,
    /// Files that were published to other tiers, and their bytes.
    pub published: (u64, u64),
    /// Files that could not be published: how many, and why the first could not.
    pub unpublished: (u64, String),
    /// Files whose bytes could not be made durable in the background: how many, and why the first.
    pub unsynced: (u64, String),
    /// Rules publish files, and none was, since the command did not succeed.
    pub withheld: bool,
    /// Files that stayed in place because their tier was full or refused them, and why.
    pub spilled: (u64, String),
    /// What copies were good for; `None`: no rule has a cache.
    pub cache: Option<CacheReport>,
}

/// How files in place were read for which a rule has a cache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheReport {
    /// Opens that read a copy.
    pub hits: u64,
    /// Opens that read the file at home.
    pub misses: u64,
    /// Files that were copied, and their bytes.
    pub copied: (u64, u64),
    /// Why some file was not copied, the first.
    pub why_not: Option<String>,
}

/// What became of a volume that was unmounted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadReport {
    /// Where the volume is.
    pub url: String,
    /// Segments and objects that were written, and their bytes.
    pub shipped: (u64, u64),
    /// Why not all of it is in the bucket.
    pub left: Option<String>,
    /// Where that is.
    pub kept: PathBuf,
    /// It is a volume that several nodes write: its names go to a book.
    pub is_shared: bool,
}

/// The end of a volume is waited for, since its bucket does not take what is brought to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketWaiting {
    /// Where the volume is.
    pub url: String,
    /// What the bucket answers, or that it does not.
    pub why: String,
    /// Files that it does not have, and their bytes.
    pub files: (u64, u64),
    /// Where they are.
    pub kept: PathBuf,
}

/// How far files have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteBackProgress {
    /// They are at home, and are being published.
    pub publishing: bool,
    /// Files so far, of how many.
    pub files: (u64, u64),
    /// Bytes so far, of how many.
    pub bytes: (u64, u64),
    /// Since the first file of these was begun.
    pub took: Micros,
}
