//! The parts that this node keeps for all, within the space that it was given. The directory is
//! emptied when it is taken: nothing there outlives the mount.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_os::predecessor::lock_after_predecessor;
use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashMap;
use rustix::fs::statvfs;

use super::super::request::ReadParts;
use super::PeerCounters;
use super::part::{Part, PartReader};
use super::part_id::{PART, PartId};

const LOCK: &str = "lock";
/// Parts that are fetched at a time: as many requests as all readers of a node make.
const FETCHED_AT_ONCE: usize = 24;
/// Of the disk so much stays free: the files of the volume leave as much (`local_copy`).
const FREE: u64 = 16;

/// Where parts come from.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    source: Arc<dyn ReadParts>,
    /// What comes is counted as from the bucket; peers' bytes are counted as they come.
    is_bucket: bool,
}

impl Origin {
    pub(super) fn bucket(source: &Arc<dyn ReadParts>) -> Origin {
        Origin { source: Arc::clone(source), is_bucket: true }
    }

    pub(super) fn peers(source: Arc<dyn ReadParts>) -> Origin {
        Origin { source, is_bucket: false }
    }
}

/// There is no room for one more part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRoom;

#[derive(Debug)]
pub(super) struct PartStore {
    folder: PathBuf,
    space: u64,
    counters: Arc<PeerCounters>,
    held: Mutex<HeldParts>,
    fetching: Mutex<usize>,
    fetched: Condvar,
    /// Nobody else uses the directory.
    _lock: File,
}

#[derive(Debug, Default)]
struct HeldParts {
    parts: FxHashMap<PartId, HeldPart>,
    /// Bytes of all of them, those that still come counted as if they were here.
    bytes: u64,
    /// Of names that were given.
    names: u64,
    /// Of uses.
    uses: u64,
}

#[derive(Debug)]
struct HeldPart {
    part: Arc<Part>,
    bytes: u64,
    used: u64,
}

impl PartStore {
    /// Takes a directory for at most so many bytes, and empties it.
    ///
    /// # Errors
    /// Those of the file system. `ResourceBusy`: somebody uses it.
    pub(super) fn open_empty(
        folder: &Path,
        space: u64,
        counters: Arc<PeerCounters>,
    ) -> io::Result<PartStore> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut how = OpenOptions::new();
        let lock = how.create(true).truncate(false).write(true).open(folder.join(LOCK))?;
        lock_after_predecessor(&lock)?;
        let store = PartStore {
            folder: folder.to_owned(),
            space,
            counters,
            held: Mutex::default(),
            fetching: Mutex::new(0),
            fetched: Condvar::new(),
            _lock: lock,
        };
        store.remove_files()?;
        Ok(store)
    }

    /// Bytes that are here or on their way, and how many there may be.
    pub(super) fn usage(&self) -> (u64, u64) {
        (self.held.lock().bytes, self.space)
    }

    /// A part, if it is here or on its way.
    pub(super) fn find(&self, id: &PartId) -> Option<PartReader> {
        self.held.lock().use_part(id)
    }

    /// A part; where nobody has asked for it yet, it is fetched from its origin, where its object
    /// has this name.
    ///
    /// # Errors
    /// Where there is no room for it.
    pub(super) fn find_or_fetch(
        self: &Arc<Self>,
        id: &PartId,
        origin: &Origin,
        name: &str,
    ) -> Result<PartReader, NoRoom> {
        let mut held = self.held.lock();
        if let Some(reader) = held.use_part(id) {
            return Ok(reader);
        }
        if !self.make_room(&mut held) {
            return Err(NoRoom);
        }
        held.names += 1;
        let part = Arc::new(Part::new(self.folder.join(held.names.to_string())));
        let mut how = OpenOptions::new();
        let file = how.create_new(true).write(true).open(&part.path).map_err(|_| NoRoom)?;
        let used = held.next_use();
        held.parts.insert(id.clone(), HeldPart { part: Arc::clone(&part), bytes: PART, used });
        held.bytes += PART;
        let reader = PartReader::open(Arc::clone(&part)).map_err(|_| NoRoom);
        let fetch = {
            let (store, id, part) = (Arc::clone(self), id.clone(), Arc::clone(&part));
            let (origin, name) = (origin.clone(), name.to_owned());
            move || store.fetch_part(&id, &part, &file, &origin, &name)
        };
        let thread = std::thread::Builder::new().name("forebay-part".into()).spawn(fetch);
        drop(held);
        if thread.is_err() || reader.is_err() {
            part.give_up("there is no thread, or no descriptor, to fetch it");
            self.forget(id, &part);
            return Err(NoRoom);
        }
        reader
    }

    fn fetch_part(&self, id: &PartId, part: &Arc<Part>, file: &File, origin: &Origin, name: &str) {
        let mut fetching = self.fetching.lock();
        while *fetching >= FETCHED_AT_ONCE {
            self.fetched.wait(&mut fetching);
        }
        *fetching += 1;
        drop(fetching);
        let turn = FetchTurn { store: self, part };
        let came = part.fetch_from(file, origin.source.as_ref(), name, id);
        drop(turn);
        match came {
            Ok(bytes) => {
                if origin.is_bucket {
                    self.counters.add_from_bucket(bytes);
                }
                let mut held = self.held.lock();
                if let Some(entry) = held.parts.get_mut(id) {
                    let reserved = std::mem::replace(&mut entry.bytes, bytes);
                    held.bytes = held.bytes + bytes - reserved;
                }
            }
            Err(failed) => {
                tracing::debug!("part {} of {name} is not fetched: {failed}", id.number);
                self.forget(id, part);
            }
        }
    }

    /// A part that is not what it should be is here no more; who reads it goes on.
    pub(super) fn forget_damaged(&self, id: &PartId) {
        let part = self.held.lock().parts.get(id).map(|entry| Arc::clone(&entry.part));
        part.iter().for_each(|part| self.forget(id, part));
    }

    fn forget(&self, id: &PartId, part: &Arc<Part>) {
        let mut held = self.held.lock();
        if held.parts.get(id).is_some_and(|entry| Arc::ptr_eq(&entry.part, part)) {
            held.remove(id);
        }
    }

    /// Whether there is room for one more part, for which others may have to go: those that nobody
    /// reads, the one first that was used the longest ago.
    fn make_room(&self, held: &mut HeldParts) -> bool {
        let is_tight = |held: &HeldParts| {
            let disk = statvfs(&self.folder);
            let is_full = disk.is_ok_and(|disk| disk.f_bavail < disk.f_blocks / FREE);
            is_full || held.bytes + PART > self.space
        };
        while is_tight(held) {
            let unused = held
                .parts
                .iter()
                .filter(|(_, entry)| {
                    entry.part.is_complete() && Arc::strong_count(&entry.part) == 1
                })
                .min_by_key(|(_, entry)| entry.used)
                .map(|(id, _)| id.clone());
            let Some(unused) = unused else { return false };
            held.remove(&unused);
        }
        true
    }

    /// Nothing of it is needed any more.
    pub(super) fn remove_files(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            // Its own files have numbers for names: whatever else is here is somebody's.
            if entry.file_name().to_str().is_some_and(|name| name.parse::<u64>().is_ok()) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// One of those that fetch at a time. However it ends, nobody waits for it any more.
struct FetchTurn<'a> {
    store: &'a PartStore,
    part: &'a Part,
}

impl Drop for FetchTurn<'_> {
    fn drop(&mut self) {
        self.part.give_up("the thread that fetches it is gone");
        *self.store.fetching.lock() -= 1;
        self.store.fetched.notify_one();
    }
}

impl HeldParts {
    fn next_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    fn use_part(&mut self, id: &PartId) -> Option<PartReader> {
        let used = self.next_use();
        let entry = self.parts.get_mut(id)?;
        entry.used = used;
        PartReader::open(Arc::clone(&entry.part)).ok()
    }

    fn remove(&mut self, id: &PartId) {
        if let Some(entry) = self.parts.remove(id) {
            self.bytes -= entry.bytes;
            // What stays is removed with the directory.
            let _ = std::fs::remove_file(&entry.part.path);
        }
    }
}
