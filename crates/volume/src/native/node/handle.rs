//! Open files and directories, as long as some program holds them.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::Node;
use crate::backend::ContentSource;
use crate::counters::FileTraffic;
use crate::native::dir_reader::DirReader;
use crate::native::iostate::{CacheValidator, IoState, SharedIoState};
use crate::native::ticket::MigrationTicket;
use crate::native::{Backing, Result};
use crate::recorder::OpenRecord;
use crate::tiers::CopyLease;

/// What an open file has of the file below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandleFile {
    /// It is open.
    Open,
    /// The way to it (`O_PATH`): only the kernel has it open.
    Path,
    /// Nothing: its bytes are in the log, and something stands for it that is not to be asked.
    Log,
}

/// One open file: what open(2) returned to one caller, shared by all who inherited it.
#[derive(Debug)]
pub(crate) struct FileHandle {
    pub(crate) node: Arc<Node>,
    /// The file below, as far as `kind` says.
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) kind: HandleFile,
    /// It is open all the same, for what needs that ([`crate::native::Native::ensure_opened`]).
    pub(crate) opened: OnceLock<OwnedFd>,
    /// What its bytes are read from instead, as long as nobody changes the file.
    pub(crate) copy: Option<Arc<CopyLease>>,
    /// What has those of its bytes that the file below has not, or not yet.
    pub(crate) source: Option<Arc<dyn ContentSource>>,
    pub(crate) state: IoState,
    pub(crate) writes: bool,
    /// Closes of copies are not told.
    pub(crate) quiet: bool,
    /// The backing descriptor appends.
    pub(crate) appends: AtomicBool,
    /// Each write is to be safe when it is answered (`O_SYNC`, `O_DSYNC`).
    pub(crate) syncs: bool,
    /// It was made by this open, and nobody has asked yet for the capabilities that it can't have.
    pub(crate) lacks_capabilities: AtomicBool,
    /// Time of modification and size when opened.
    pub(crate) stamp: (i64, u32, u64),
    /// A BSD lock was taken through this handle.
    pub(crate) flocked: AtomicBool,
    /// Some copy of the descriptor was closed since the lock was taken.
    pub(crate) closing: AtomicBool,
    /// Owners who took byte-range locks through this handle.
    pub(crate) lockers: Mutex<Vec<u64>>,
    /// The newest error of a write that this open file has reported.
    pub(crate) heard: AtomicU64,
    /// Where the last read and the last write ended, to tell streams from jumps.
    pub(crate) read_end: AtomicU64,
    pub(crate) write_end: AtomicU64,
    /// What went through it, for who looks on.
    pub(crate) flow: FileTraffic,
    /// What the record will say of this open.
    pub(crate) record: OpenRecordCell,
}

/// The record of an open, set by the recorder when there is one.
pub(crate) type OpenRecordCell = std::sync::OnceLock<Box<OpenRecord>>;

impl FileHandle {
    /// Fails, once, when a write to the file has failed that nobody waited for.
    ///
    /// # Errors
    /// The error of that write.
    pub(in crate::native) fn report_write_error(&self) -> Result<()> {
        self.node.unreported.report_once(&self.heard)
    }
}

/// An inode's opens with what they hold in common.
#[derive(Debug, Default)]
pub(crate) struct InodeOpens {
    pub(crate) shared: SharedIoState,
    /// Lent to the kernel while the state is passthrough.
    pub(crate) backing: Option<Arc<dyn Backing>>,
    /// The user for whom it was lent first: whom the storage below has let in.
    pub(crate) lent_for: Option<u32>,
    /// What all of them read instead of the file.
    pub(crate) copy: Option<Arc<CopyLease>>,
    /// Open handles, for requests that name only the inode.
    pub(crate) handles: Vec<Arc<FileHandle>>,
    /// It is on its way to where its rule sends it.
    pub(crate) moving: Option<Arc<MigrationTicket>>,
    /// The file as it was when pages were last read into the cache.
    pub(crate) fresh: Option<CacheValidator>,
}

impl InodeOpens {
    /// Nobody has it open, and nothing waits to be let go.
    pub(crate) fn is_idle(&self) -> bool {
        let lent = self.backing.is_some() || self.copy.is_some();
        !self.shared.is_open() && !lent && self.handles.is_empty()
    }
}

/// One open directory.
#[derive(Debug)]
pub(crate) struct DirHandle {
    pub(crate) node: Arc<Node>,
    pub(crate) reader: Mutex<DirReader>,
    /// The packed names as they were when a listing reached them.
    pub(crate) packed: Mutex<Option<Vec<(CString, u64)>>>,
}
