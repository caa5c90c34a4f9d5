//! What we know of one file, directory or link below a covered directory: which one it is, where
//! it was last seen, and how it is open. It holds knowledge; the directory stays the truth.

mod handle;

use forebay_os::file_identity::FileIdentity;
use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use forebay_model::FileId;
use parking_lot::{Mutex, RwLock};
use rustix::fs::Statx;

use super::attribute_override::AttributeOverride;
use super::directory_cache::CachedDirectory;
use super::packed_file::PackedFile;
use super::slot::TieredFileSlot;
use super::unreported::UnreportedError;
use crate::recorder::RecordedPath;
pub(crate) use handle::{DirHandle, FileHandle, HandleFile, InodeOpens};

/// The kernel's number for the root of a mount (`FUSE_ROOT_ID`).
pub(crate) const ROOT: u64 = 1;

/// One file, directory, link or special file that the kernel knows by number.
#[derive(Debug)]
pub(crate) struct Node {
    /// The number in requests (`nodeid`), never used twice in one mount.
    pub(crate) id: u64,
    /// Changed by the table alone, when the file moves.
    pub(super) identity: RwLock<FileIdentity>,
    /// What programs were shown before the file moved.
    pub(super) guise: AttributeOverride,
    /// The file type bits of the mode (`S_IFMT`).
    pub(crate) kind: u32,
    /// How many references the kernel holds (`nlookup`).
    pub(crate) lookups: AtomicU64,
    pub(crate) place: Mutex<NodeLocation>,
    pub(crate) open: Mutex<InodeOpens>,
    /// Path and class as the record knows them, computed once a name.
    pub(crate) known: Mutex<RecordState>,
    /// A watch tells of every change of names in this directory.
    pub(crate) watched: AtomicBool,
    /// Look-ups in this directory so far; the watch is armed when it is worth its price.
    pub(crate) searched: AtomicU64,
    /// Somebody outside holds this file open for writing (a redirected stdout).
    pub(crate) foreign: AtomicBool,
    /// Somebody inside had it open for writing at some time, and may do so again.
    pub(crate) written: AtomicBool,
    /// A byte-range lock was asked for at some time: closes must be told from now on.
    pub(crate) locked: AtomicBool,
    /// Its body is on a tier.
    pub(crate) placed: TieredFileSlot,
    /// It has got another name here, whose rule may send it elsewhere.
    pub(crate) renamed: AtomicBool,
    /// It is packed.
    pub(crate) packed: OnceLock<Arc<PackedFile>>,
    /// What is known of a directory that a rule lets us believe for a while.
    pub(super) folder: OnceLock<Box<CachedDirectory>>,
    /// What the kernel was told of a file in place (`native::metadata_cache`).
    pub(super) told: AtomicU64,
    /// The names in this directory have been made safe once, by the first fsync of a packed file.
    pub(crate) named: AtomicBool,
    /// A write to it has failed that nobody waited for.
    pub(super) unreported: UnreportedError,
}

/// How the record knows a file; the number beside it is the epoch (`Native::renames`) of its path.
#[derive(Debug, Default)]
pub(crate) enum RecordState {
    /// Not at all.
    #[default]
    Not,
    As(u64, Arc<RecordedPath>),
    /// It was told of once, and is forgotten here but for its number.
    Once(u64, FileId),
}

/// Where a node was last seen.
#[derive(Debug, Default)]
pub(crate) struct NodeLocation {
    /// Directory (by number) and name; several for hard links, none once unlinked.
    pub(crate) names: Vec<(u64, CString)>,
    /// A descriptor that holds the node itself, whatever happens to its names.
    pub(crate) pin: Option<Arc<OwnedFd>>,
    /// Keeps the inode whose number is still shown, and which has no name any more, so that no other
    /// file gets it.
    pub(crate) was: Option<OwnedFd>,
}

impl Node {
    pub(crate) fn new(id: u64, stat: &Statx) -> Node {
        Node::with_identity(
            id,
            FileIdentity::from_statx(stat),
            u32::from(stat.stx_mode) & libc::S_IFMT,
        )
    }

    pub(super) fn with_identity(id: u64, identity: FileIdentity, kind: u32) -> Node {
        Node {
            id,
            identity: RwLock::new(identity),
            guise: AttributeOverride::default(),
            kind,
            lookups: AtomicU64::new(0),
            place: Mutex::default(),
            open: Mutex::default(),
            known: Mutex::default(),
            watched: AtomicBool::new(false),
            searched: AtomicU64::new(0),
            foreign: AtomicBool::new(false),
            written: AtomicBool::new(false),
            locked: AtomicBool::new(false),
            placed: TieredFileSlot::default(),
            renamed: AtomicBool::new(false),
            packed: OnceLock::new(),
            folder: OnceLock::new(),
            told: AtomicU64::new(0),
            named: AtomicBool::new(false),
            unreported: UnreportedError::default(),
        }
    }

    pub(super) fn folder(&self) -> &CachedDirectory {
        self.folder.get_or_init(Box::default)
    }

    pub(crate) fn identity(&self) -> FileIdentity {
        *self.identity.read()
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.kind == libc::S_IFDIR
    }

    /// Its bytes are where its name is.
    pub(crate) fn is_in_place(&self) -> bool {
        !self.placed.is_some() && self.packed.get().is_none()
    }

    /// Notes that the node was seen under `name`; the newest name is tried first.
    pub(crate) fn note_name(&self, parent: u64, name: &CStr, links: u32) {
        let mut place = self.place.lock();
        match place.names.iter().position(|(p, n)| *p == parent && n.as_c_str() == name) {
            Some(0) => {}
            Some(at) => place.names.swap(0, at),
            None => {
                // A directory, and a file with one link, has one name: an older one is history.
                if self.is_dir() || links < 2 {
                    place.names.clear();
                }
                // Most have one name, and many are known.
                place.names.reserve_exact(1);
                place.names.insert(0, (parent, name.to_owned()));
                drop(place);
                self.invalidate_recorded_path();
            }
        }
    }

    /// What the record knows holds another name: it is to be computed anew.
    pub(crate) fn invalidate_recorded_path(&self) {
        match &mut *self.known.lock() {
            RecordState::As(epoch, _) | RecordState::Once(epoch, _) => *epoch = u64::MAX,
            RecordState::Not => {}
        }
    }

    /// Notes that `name` no longer leads here. Returns whether any name is left.
    pub(crate) fn remove_name(&self, parent: u64, name: &CStr) -> bool {
        let mut place = self.place.lock();
        place.names.retain(|(p, n)| *p != parent || n.as_c_str() != name);
        !place.names.is_empty()
    }

    /// Its number in the record, if it was ever open.
    pub(crate) fn recorded_file_id(&self) -> Option<FileId> {
        match &*self.known.lock() {
            RecordState::As(_, known) => known.file(),
            RecordState::Once(_, file) => Some(*file),
            RecordState::Not => None,
        }
    }

    /// The newest name, if any is known.
    pub(crate) fn newest_name(&self) -> Option<(u64, CString)> {
        self.place.lock().names.first().cloned()
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Relaxed)
    }
}
