//! Open files and directories, as long as some program holds them.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::Native;
use super::iostate::IoState;
use super::node::Node;
use crate::backend::Source;
use crate::counters::Flow;
use crate::recorder::OpenRecord;
use crate::tiers::Lent;

/// One open file: what open(2) returned to one caller, shared by all who inherited it.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) node: Arc<Node>,
    /// The file below.
    pub(crate) file: OwnedFd,
    /// That is the way to it (`O_PATH`), and only the kernel has it open.
    pub(crate) by_path: bool,
    /// It is open all the same, for what needs that ([`Native::open_file`]).
    pub(crate) opened: OnceLock<OwnedFd>,
    /// What its bytes are read from instead, as long as nobody changes the file.
    pub(crate) copy: Option<Arc<Lent>>,
    /// What has those of its bytes that the file below has not, or not yet.
    pub(crate) source: Option<Arc<dyn Source>>,
    pub(crate) state: IoState,
    pub(crate) writes: bool,
    /// Closes of copies are not told.
    pub(crate) quiet: bool,
    /// The backing descriptor appends.
    pub(crate) appends: AtomicBool,
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
    pub(crate) flow: Flow,
    /// What the record will say of this open.
    pub(crate) record: OnceRecord,
}

/// The record of an open, set by the recorder when there is one.
pub(crate) type OnceRecord = std::sync::OnceLock<Box<OpenRecord>>;

/// One open directory.
#[derive(Debug)]
pub(crate) struct DirHandle {
    pub(crate) node: Arc<Node>,
    pub(crate) reader: Mutex<super::dir::Reader>,
    pub(crate) packed: Mutex<super::packed::Listing>,
}

impl Native {
    /// Whether any program has a file or directory open.
    pub(crate) fn is_used(&self) -> bool {
        !self.handles.lock().is_empty() || !self.dirs.lock().is_empty()
    }
}
