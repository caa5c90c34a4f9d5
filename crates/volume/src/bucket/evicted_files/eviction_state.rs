//! What is known of the files of a volume whose bytes are not here.

use std::collections::VecDeque;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustc_hash::FxHashMap;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::super::commit_upload::{MoveObserver, MovedContent};
use super::super::file_blocks::FileBlocks;
use super::super::placeholder::while_writable;
use super::super::scan::FileStamp;
use super::super::tree::VolumeFile;
use super::super::tree_record::Time;
use super::{EvictedFile, EvictedFiles, Result};
use forebay_os::file_identity::{FileIdentity, reopen_with_flags};

#[derive(Debug, Default)]
pub(super) struct EvictionState {
    pub(super) away: FxHashMap<u64, EvictedFile>,
    pub(super) numbers: FxHashMap<FileIdentity, u64>,
    pub(super) bodies: FxHashMap<FileIdentity, Arc<FileBlocks>>,
    /// Files that have come: what the bucket has of them is what is here.
    pub(super) came: Vec<(u64, FileStamp)>,
    /// Nothing that comes counts any more.
    pub(super) is_over: bool,
    /// Files that are made holes now, and their own times of modification.
    pub(super) leaving: FxHashMap<FileIdentity, Time>,
    /// Files that came, or were made holes, last.
    pub(super) settled: VecDeque<FileIdentity>,
    /// Files that others have taken the places of, and what they were called.
    pub(super) retired: Vec<(FileIdentity, u64, String)>,
}

impl EvictedFile {
    /// What the bucket has of a file.
    pub(crate) fn from_file(file: &VolumeFile) -> EvictedFile {
        let sums = file.sums.as_deref().cloned();
        EvictedFile { place: file.place.clone(), sums, mtime: file.attr.mtime }
    }
}

impl MoveObserver for EvictedFiles {
    fn notify_moved(&self, moved: Vec<MovedContent>) {
        self.update_places(moved);
    }
}

impl EvictedFiles {
    /// Files whose bytes lie elsewhere now.
    pub(super) fn update_places(&self, moved: Vec<MovedContent>) {
        let mut known = self.known.lock();
        for MovedContent { ino, place, sums } in moved {
            if let Some(away) = known.away.get_mut(&ino) {
                (away.place, away.sums) = (place, sums);
            }
        }
    }

    /// Files that have come since this was asked last.
    pub(crate) fn take_arrived(&self) -> Vec<(u64, FileStamp)> {
        std::mem::take(&mut self.known.lock().came)
    }

    /// Nobody uses the volume any more: bytes that come are not told to be here, since nobody makes
    /// them durable.
    pub(crate) fn stop_accepting(&self) {
        self.known.lock().is_over = true;
    }

    /// A file's bytes are in the bucket alone from now on, and what is here is about to be made a
    /// hole; [`EvictedFiles::finish_eviction`] says that it is one.
    pub(crate) fn begin_eviction(&self, identity: FileIdentity, ino: u64, away: EvictedFile) {
        let mut known = self.known.lock();
        if known.leaving.insert(identity, away.mtime).is_none() {
            self.count.fetch_add(1, Relaxed);
        }
        known.numbers.insert(identity, ino);
        known.away.insert(ino, away);
        if known.bodies.remove(&identity).is_some() {
            self.count.fetch_sub(1, Relaxed);
        }
    }

    /// The same by its number.
    pub(crate) fn is_inode_evicted(&self, ino: u64) -> bool {
        self.known.lock().away.contains_key(&ino)
    }

    /// The bytes that have come since this last had an answer, once they are more than so many.
    pub(crate) fn take_fetched_bytes(&self, much: u64) -> Option<u64> {
        let is_much = self.brought.load(Relaxed) > much;
        is_much.then(|| self.brought.swap(0, Relaxed))
    }

    /// Whether a file's bytes are in the bucket alone.
    pub(crate) fn is_evicted(&self, identity: &FileIdentity) -> bool {
        let known = self.known.lock();
        known.numbers.get(identity).is_some_and(|ino| known.away.contains_key(ino))
    }
}

/// Opens a file again, to read and write, whatever its mode is.
pub(super) fn reopen_writable(file: BorrowedFd<'_>) -> Result<OwnedFd> {
    match reopen_with_flags(file, OFlags::RDWR) {
        Err(Errno::ACCESS) => while_writable(file, || reopen_with_flags(file, OFlags::RDWR)),
        opened => opened,
    }
}
