//! Files whose bytes are in the bucket, and how these come here: small ones when they are opened,
//! with their neighbours in the segment; of large ones the blocks that are read, and all the rest
//! when they are read one after the other.

mod background_fetch;
pub(super) mod evicted_set;
mod eviction_state;
mod failed_reads;
mod modification_times;
mod range_requests;
mod stream;
mod unlinked_files;

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use rustix::io::Errno;

use super::fetch::ContentFetcher;
use super::file_blocks::{BLOCK, FileBlocks};
use super::health::Health;
use super::placeholder::clear_evicted_mark;
use super::request::Bucket;
use super::tree_record::{ContentLocation, Time};
use eviction_state::{EvictionState, reopen_writable};
pub(super) use failed_reads::FailedReads;
use forebay_objstore::RetryWindow;
use forebay_os::file_identity::FileIdentity;

pub(super) type Result<T> = std::result::Result<T, Errno>;

/// Bytes read one after the other from which on all of a file is brought.
const STREAM: u64 = 192 << 10;
/// Bytes of one request for a whole file: as much as AWS advises.
const PART: u64 = 8 << 20;

/// A file whose bytes are away.
#[derive(Debug, Clone)]
pub(crate) struct EvictedFile {
    pub(crate) place: ContentLocation,
    /// The checksums of its object.
    pub(crate) sums: Option<ContentLocation>,
    pub(crate) mtime: Time,
}

#[derive(Debug)]
pub(crate) struct EvictedFiles {
    fetch: ContentFetcher,
    bucket: Arc<dyn Bucket>,
    known: Mutex<EvictionState>,
    /// Bodies that are known, and files that are on their way out or have just come.
    count: AtomicUsize,
    hands: AtomicUsize,
    brought: AtomicU64,
    /// Files that are open and whose objects may go with the next cut.
    losing: Mutex<Vec<Arc<FileBlocks>>>,
    patience: RetryWindow,
    health: Arc<Health>,
    /// The bucket has not answered for so long that nobody waits for it, until it does.
    gone: AtomicBool,
    /// Bytes that could not be had.
    pub(super) lost: FailedReads,
    /// Bytes of files of which not all have come are believed.
    keeps_parts: AtomicBool,
    /// Who knows where bytes are by now, if that is somebody else's to say.
    behind: OnceLock<Weak<dyn evicted_set::ContentLocator>>,
}

impl EvictedFiles {
    pub(crate) fn new(
        bucket: Arc<dyn Bucket>,
        away: impl IntoIterator<Item = (FileIdentity, u64, EvictedFile)>,
        (patience, health): (RetryWindow, Arc<Health>),
    ) -> EvictedFiles {
        let mut known = EvictionState::default();
        for (identity, ino, away) in away {
            known.numbers.insert(identity, ino);
            known.away.insert(ino, away);
        }
        EvictedFiles {
            fetch: ContentFetcher::new(Arc::clone(&bucket)),
            bucket,
            known: Mutex::new(known),
            count: AtomicUsize::new(0),
            hands: AtomicUsize::new(0),
            brought: AtomicU64::new(0),
            losing: Mutex::default(),
            patience,
            health,
            gone: AtomicBool::new(false),
            lost: FailedReads::default(),
            keeps_parts: AtomicBool::new(false),
            behind: OnceLock::new(),
        }
    }

    /// The bucket answers.
    pub(super) fn mark_reachable(&self) {
        self.gone.store(false, Relaxed);
    }

    /// The body of a file that is opened, if its bytes are not all here. Those of a small one come
    /// now. The caller acts for itself here.
    ///
    /// # Errors
    /// EIO: the bytes can't be had.
    pub(crate) fn open_evicted_file(
        self: &Arc<Self>,
        identity: &FileIdentity,
        file: BorrowedFd<'_>,
    ) -> Result<Option<Arc<FileBlocks>>> {
        let (body, small, is_new) = {
            let mut known = self.known.lock();
            let Some(ino) = known.numbers.get(identity).copied() else { return Ok(None) };
            let Some(away) = known.away.get(&ino).cloned() else { return Ok(None) };
            let small = matches!(away.place, ContentLocation::Packed { .. });
            let old = known.bodies.get(identity).map(Arc::clone);
            let is_new = old.is_none();
            let body = match old {
                Some(body) => body,
                None => {
                    let body =
                        FileBlocks::new(ino, reopen_writable(file)?, away.place.size(), away.mtime);
                    let body = Arc::new(body);
                    known.bodies.insert(*identity, Arc::clone(&body));
                    self.count.fetch_add(1, Relaxed);
                    body
                }
            };
            (body, small, is_new)
        };
        if !small {
            if is_new && self.keeps_parts.load(Relaxed) {
                self.restore_present_ranges(&body);
            }
            return Ok(Some(body));
        }
        self.ensure_present(&body, 0..body.size, u64::MAX)?;
        self.close_evicted_file(identity, &body);
        Ok(None)
    }

    /// A body that all bytes are here of need not be known any more.
    pub(crate) fn close_evicted_file(&self, identity: &FileIdentity, body: &FileBlocks) {
        if !body.is_whole() {
            return;
        }
        let mut known = self.known.lock();
        if known.bodies.remove(identity).is_some() {
            self.count.fetch_sub(1, Relaxed);
            self.note_settled(&mut known, *identity);
        }
    }

    /// Bytes are about to be read.
    ///
    /// # Errors
    /// EIO: they can't be had.
    pub(crate) fn fetch_for_read(
        self: &Arc<Self>,
        body: &Arc<FileBlocks>,
        range: Range<u64>,
    ) -> Result<()> {
        if body.is_whole() || range.start >= body.size {
            return Ok(());
        }
        if body.note_read(&range) >= STREAM {
            self.begin_filling(body);
        }
        self.ensure_present(body, range, BLOCK)
    }

    /// Brings all that is missing.
    ///
    /// # Errors
    /// EIO: it can't be had.
    pub(crate) fn fetch_all(self: &Arc<Self>, body: &Arc<FileBlocks>) -> Result<()> {
        if !body.is_whole() {
            self.begin_filling(body);
            self.ensure_present(body, 0..body.size, PART)?;
        }
        Ok(())
    }

    /// Empties a file: what is away counts no more. If `empty` fails, nothing is changed.
    ///
    /// # Errors
    /// What `empty` says.
    pub(crate) fn discard_missing(
        &self,
        body: &FileBlocks,
        empty: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        body.discard_missing(|| {
            empty()?;
            // Empty before, or a kill would leave a hole that is taken for the file.
            clear_evicted_mark(&body.file)?;
            self.known.lock().away.remove(&body.ino);
            Ok(())
        })
    }
}
