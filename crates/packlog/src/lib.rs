//! Packed files: many small files in one log on a tier, instead of a file each in place. Their
//! directories are directories in place; their names, attributes and bytes are in the log.
//!
//! Each operation is in the log before it is answered, so a kill loses nothing; after a power
//! failure, what the pack holds is what it held at some moment, no earlier than the last fsync.
//! While a file is open its bytes are in a working file beside the log; when it is closed they go
//! into the log, and a file that has outgrown the log keeps its working file as its body.
//!
//! It knows no kernel, no caller's rights and no file in place: `native::packed` does.

mod apply;
mod disk;
mod durability;
mod eager_copies;
mod file_content;
mod frame_reader;
mod log;
mod name;
mod name_operations;
mod pack_index;
mod record;
mod recover;
mod rewrite;
mod salvage;
#[cfg(test)]
mod tests;
mod verify;
mod working_files;

use std::collections::BTreeSet;

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::io::Errno;

use disk::{AppendFile, LogDirectory, LogStorage};
pub use eager_copies::EagerCopyAttempt;
use log::{Log, LogError};
use name::InPlaceMarks;
pub use pack_index::FIRST;
use pack_index::Index;
use record::Record;
pub use record::{Attr, DirKey, Time};
pub use working_files::WorkingFile;
use working_files::WorkingFiles;

use forebay_os::short_name::ShortName;

/// Files up to this size, in bytes, are in the log; larger ones keep their working file. It is
/// what one write of the log can carry without a wait that others feel.
pub const LARGEST: u64 = 128 << 10;

/// Seconds by which times in place may be ahead of our clock and still count.
const AHEAD: i64 = 2;

/// Bodies of removed files that wait for a sync at most.
const MOST_DOOMED: usize = 64;

type Result<T> = std::result::Result<T, Errno>;

/// How the word of a damaged log begins.
pub const DAMAGED: &str = "its log is damaged";

/// What a packed name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedEntry {
    /// Its number, from [`FIRST`] on.
    pub ino: u64,
    /// What stat(2) says.
    pub attr: Attr,
    /// How many names it has.
    pub links: u32,
    /// This file in place may have the name too, hidden.
    pub over: Option<DirKey>,
    /// The name is gone if this file in place has it.
    pub yields: Option<DirKey>,
    /// The same; but that file was made of this one, and may not be safe yet.
    pub lands: Option<DirKey>,
}

/// A directory in place that has packed files.
#[derive(Debug, Clone)]
pub struct PackedDir {
    /// The directory.
    pub key: DirKey,
    /// Its path below the managed directory when its first file was packed.
    pub path: Vec<u8>,
    /// Names in it that packed files have.
    pub names: Vec<ShortName>,
}

/// The names and files of a pack that is used no more: memory, which takes its time to be let go.
#[derive(Debug)]
pub struct DiscardedIndex(#[allow(dead_code, reason = "it is for dropping")] Index);

/// What a pack takes from outside.
pub struct PackEnvironment {
    /// The time now.
    pub clock: Box<dyn Fn() -> Time + Send + Sync>,
    /// This life of the machine (`/proc/sys/kernel/random/boot_id`).
    pub boot: [u8; 16],
    /// Marks the log's own frames; another for each log.
    pub salt: Box<dyn Fn() -> u32 + Send + Sync>,
}

impl std::fmt::Debug for PackEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("boot", &self.boot).finish_non_exhaustive()
    }
}

/// The packed files of one volume.
#[derive(Debug)]
pub struct Pack {
    state: Mutex<State>,
    /// One at a time makes the log safe; who waited finds it done.
    syncing: Mutex<()>,
    ground: Box<dyn LogStorage>,
    works: WorkingFiles,
    early: eager_copies::EagerCopies,
    /// Bodies of removed files, until the removal is safe.
    doomed: Mutex<Vec<u64>>,
    world: PackEnvironment,
}

#[derive(Debug)]
struct State {
    index: Index,
    log: Log,
    /// The log is safe up to here.
    safe: u64,
    /// Raised when the log is another file.
    generation: u64,
    /// The newest time seen in place: nothing made here may look older.
    newest: Time,
    /// Where the bytes of files without a name are, when the log was written anew without them.
    old: FxHashMap<u64, Arc<dyn AppendFile>>,
    /// A sync failed: nothing written so far can be called safe any more.
    broken: bool,
    /// The log does not say yet that this life of the machine began: there was no room for it.
    begin_due: bool,
    /// The log is written anew when it is longer than this, in bytes.
    long: u64,
}

impl State {
    fn write_record(&mut self, record: &Record<'_>, data: &[u8]) -> Result<()> {
        if self.begin_due {
            // Else what follows would be taken for an earlier life's, and its open files dropped.
            let begin = Record::Begin { boot: self.index.boot };
            self.log.append_record(&mut self.index, &begin, &[])?;
            self.begin_due = false;
        }
        self.log.append_record(&mut self.index, record, data)
    }

    /// The number of a directory, entered if it is new.
    fn ensure_directory(&mut self, key: DirKey, path: impl FnOnce() -> Vec<u8>) -> Result<u32> {
        if let Some((number, _)) = self.index.find_directory(key) {
            return Ok(number);
        }
        let dir = self.index.dirs.len() as u32;
        let path = path();
        self.write_record(&Record::Dir { dir, key, path: &path }, &[])?;
        Ok(dir)
    }
}

impl Pack {
    /// Opens the pack in a directory of its own, which is there; makes the log if there is none.
    ///
    /// # Errors
    /// A log of another format or one that is damaged, in words; the file system's.
    pub fn open(path: &std::path::Path, world: PackEnvironment) -> std::io::Result<Pack> {
        let folder = LogDirectory::open(path)?;
        let root = rustix::io::fcntl_dupfd_cloexec(folder.root(), 0)?;
        Pack::open_with_ground(Box::new(folder), root, world).map_err(|damage| match damage {
            LogError::Foreign => std::io::Error::other("its log is of another format"),
            LogError::Broken { at } => std::io::Error::other(format!("{DAMAGED} at byte {at}")),
            LogError::Disk(error) => error.into(),
        })
    }

    fn open_with_ground(
        ground: Box<dyn LogStorage>,
        root: std::os::fd::OwnedFd,
        world: PackEnvironment,
    ) -> std::result::Result<Pack, LogError> {
        let disk = ground.open_log()?;
        // A kill can come before the first bytes of a log are written, a power failure before they
        // are safe; nothing is behind them until then.
        let is_new = disk.file_length()? <= record::HEADER;
        let (log, index) = match is_new {
            true => (Log::create_empty(disk, (world.salt)())?, Index::default()),
            false => Log::open(disk, world.boot)?,
        };
        let (same_life, next) = (index.boot == world.boot, index.next_working_file_number());
        let pack = Pack::from_parts(index, log, ground, WorkingFiles::new(root, next), world);
        pack.recover_after_kill(same_life)?;
        Ok(pack)
    }

    fn from_parts(
        index: Index,
        log: Log,
        ground: Box<dyn LogStorage>,
        works: WorkingFiles,
        world: PackEnvironment,
    ) -> Pack {
        let state = State {
            long: rewrite::rewrite_threshold(index.live),
            index,
            log,
            safe: 0,
            generation: 0,
            newest: Time::default(),
            old: FxHashMap::default(),
            broken: false,
            begin_due: false,
        };
        let (state, syncing, doomed) = (Mutex::new(state), Mutex::new(()), Mutex::default());
        Pack {
            state,
            syncing,
            ground,
            works,
            early: eager_copies::EagerCopies::default(),
            doomed,
            world,
        }
    }

    /// Looks a name up.
    pub fn lookup_name(&self, dir: DirKey, name: &[u8]) -> Option<PackedEntry> {
        let state = self.state.lock();
        let name = state.index.find_name(dir, name)?;
        let inode = state.index.inodes.get(name.ino)?;
        let (ino, attr, links) = (name.ino, inode.attr, inode.links);
        let InPlaceMarks { over, yields, lands } = name.marks();
        Some(PackedEntry { ino, attr, links, over, yields, lands })
    }

    /// Attributes of a file, and how many names it has.
    pub fn attributes_and_links(&self, ino: u64) -> Result<(Attr, u32)> {
        let state = self.state.lock();
        state.index.inodes.get(ino).map(|i| (i.attr, i.links)).ok_or(Errno::STALE)
    }

    /// The names in a directory, each with its file.
    pub fn list_names(&self, dir: DirKey) -> Vec<(Vec<u8>, u64)> {
        let state = self.state.lock();
        let names = state.index.find_directory(dir).map(|(_, dir)| &dir.names);
        names.into_iter().flatten().map(|(name, to)| (name.as_bytes().to_vec(), to.ino)).collect()
    }

    /// Whether packed files have names in a directory.
    pub fn has_names(&self, dir: DirKey) -> bool {
        self.state.lock().index.find_directory(dir).is_some_and(|(_, dir)| !dir.names.is_empty())
    }

    /// The time to stamp a change with: never older than what was seen in place, since make(1)
    /// and Snakemake compare the two.
    pub fn timestamp_now(&self) -> Time {
        (self.world.clock)().max(self.state.lock().newest)
    }

    /// Notes a time seen in place.
    pub fn note_seen_time(&self, time: Time) {
        let mut state = self.state.lock();
        // A file with a time in the future is no clock; but fine-grained stamps, and clocks of
        // servers, are a little ahead of ours.
        let now = (self.world.clock)();
        if time > state.newest && time.sec <= now.sec + AHEAD {
            state.newest = time;
        }
    }

    /// Sets attributes; the size stays.
    ///
    /// # Errors
    /// ENOSPC and the like.
    pub fn set_attributes(&self, ino: u64, attr: Attr) -> Result<()> {
        let mut state = self.state.lock();
        // Not before: who makes it early would begin with the old ones in between.
        self.forget_eager_copy(ino);
        match state.index.inodes.get_mut(ino) {
            // Without a name it has no place in a log.
            Some(inode) if inode.links == 0 => {
                inode.attr = Attr { size: inode.attr.size, ..attr };
                Ok(())
            }
            _ => state.write_record(&Record::Attr { ino, attr }, &[]),
        }
    }

    /// Whether a power failure could take anything.
    pub fn is_durable(&self) -> bool {
        let state = self.state.lock();
        state.safe >= state.log.end
    }

    /// Bytes on the tier, working files apart.
    pub fn bytes_on_tier(&self) -> u64 {
        let state = self.state.lock();
        state.log.end + state.index.bodies
    }

    /// All directories that have packed names: each with where it was, and its names.
    pub fn packed_directories(&self) -> Vec<PackedDir> {
        let state = self.state.lock();
        let used = state.index.dirs.iter().filter(|dir| !dir.names.is_empty());
        let names = |dir: &pack_index::Dir| dir.names.keys().cloned().collect();
        used.map(|dir| PackedDir { key: dir.key, path: dir.path.clone(), names: names(dir) })
            .collect()
    }

    /// Whether no packed file has a name.
    pub fn is_empty(&self) -> bool {
        self.state.lock().index.dirs.iter().all(|dir| dir.names.is_empty())
    }

    /// Closes a pack that this process has no more use for.
    pub fn into_names(self) -> DiscardedIndex {
        DiscardedIndex(self.state.into_inner().index)
    }

    /// Removes all there is of a pack without names.
    pub fn remove_storage(&self) -> Result<()> {
        self.works.remove_all_except(&BTreeSet::new())?;
        self.ground.remove_log()
    }
}
