//! The thread that brings what changes to the bucket.

mod commit_snapshot;
mod fsync_batching;
mod local_eviction;
mod upload_pacing;
mod upload_retry;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use rustc_hash::FxHashSet;

use super::super::commit_upload::{CommitUploader, DirtyNames};
use super::super::state_directory::Journal;
use super::super::volume_opening::WriterOptions;
use super::LocalCopy;
use super::eviction_retry::EvictionRetry;
use crate::backend::TreeServer;
use forebay_objstore::{BucketClient, RequestError};
use forebay_os::file_identity::FileIdentity;
pub(super) use fsync_batching::FsyncBatching;
pub(super) use upload_retry::UploadRetry;

/// How often a cut is made for who waits for one while files are written all the time.
const LOOKS: usize = 8;

/// What the thread has that ships.
pub(super) struct UploadWorker {
    pub(super) mirror: Arc<LocalCopy>,
    pub(super) server: Weak<dyn TreeServer>,
    pub(super) ship: CommitUploader,
    pub(super) journal: Journal,
    pub(super) wanted: WriterOptions,
    pub(super) bucket: Arc<BucketClient>,
    /// Files of which somebody waits until the bucket has them.
    pub(super) synced: FxHashSet<FileIdentity>,
    /// Bytes by which the local files may have grown since it was looked whether there is room.
    pub(super) grown: u64,
    /// Files that would have been given back are in use.
    pub(super) again: EvictionRetry,
    /// Who waits for cuts.
    pub(super) crowd: FsyncBatching,
    pub(super) tries: UploadRetry,
}

impl UploadWorker {
    /// Works until nobody uses the volume any more.
    pub(super) fn run_until_over(&mut self) {
        // What changed while nobody looked.
        self.mirror.marks.lock_noted().note_change();
        let mut dirty = None;
        loop {
            let is_over = self.mirror.marks.lock_noted().over;
            let done = self.commit_and_upload(dirty.take());
            let given_back = self.make_room();
            self.mirror.end_round(given_back);
            match done {
                Ok(()) => self.note_success(),
                Err(failed) if self.wait_to_retry(&failed, is_over) => continue,
                Err(_) => return,
            }
            if is_over {
                return self.upload_remaining();
            }
            dirty = Some(self.wait_for_work());
        }
    }

    /// Makes a cut of these names, or of everything, if none waits; and ships it.
    fn commit_and_upload(&mut self, dirty: Option<DirtyNames>) -> Result<(), RequestError> {
        let mut dirty = dirty;
        for _ in 0..LOOKS {
            let mut asked = self.mirror.marks.lock_noted().done;
            if !self.ship.is_pending() {
                asked = self.make_commit(dirty.take())?;
            }
            let (files, bytes) = self.ship.waiting_uploads();
            {
                let mut progress = self.mirror.progress.lock();
                progress.files.1 = progress.files.0 + files;
                progress.bytes.1 = progress.bytes.0 + bytes;
            }
            let mirror = Arc::clone(&self.mirror);
            mirror.bodies.fetch_unlinked_files();
            let is_awaited = {
                let noted = mirror.marks.lock_noted();
                noted.over || noted.done < noted.asked
            };
            self.ship.set_awaited(is_awaited);
            let shipped = self.ship.upload_commit(&|path| mirror.open_to_read(path));
            self.mirror.next_segment.store(self.next_segment(), Relaxed);
            if let Some(shipped) = shipped? {
                let mut progress = self.mirror.progress.lock();
                (progress.files.0, progress.bytes.0) = (progress.files.1, progress.bytes.1);
                drop(progress);
                let mut told = self.mirror.told.lock();
                told.shipped.0 += shipped.objects + 1;
                told.shipped.1 += bytes.max(shipped.bytes);
                self.grown = self.grown.saturating_add(bytes.max(shipped.bytes));
            }
            let learnt = self.ship.scan_mut().take_learnt();
            if let Err(error) = self.journal.append_frame(self.ship.next_segment(), false, learnt) {
                tracing::warn!("what was learnt of {} is not kept: {error}", self.wanted.url);
            }
            let again = self.ship.take_changed_names();
            let is_done = again.is_empty();
            let mut noted = self.mirror.marks.lock_noted();
            noted.dirty.extend(again);
            if !self.ship.is_pending() {
                noted.note_uploaded(!is_done);
            }
            if is_done {
                self.synced.clear();
                self.crowd.note_joiners(noted.asked - asked);
                noted.done = noted.done.max(asked);
            }
            let waits = noted.done < noted.asked;
            self.mirror.marks.call.notify_all();
            if !waits {
                break;
            }
            dirty = Some(std::mem::take(&mut noted.dirty));
        }
        if !self.ship.is_pending() {
            self.ship.settle_object_keys()?;
            self.ship.truncate_log();
        }
        Ok(())
    }

    /// Nobody uses it any more: all of it is looked at once more.
    fn upload_remaining(&mut self) {
        loop {
            match self.commit_and_upload(None) {
                Ok(()) if self.mirror.marks.lock_noted().dirty.is_empty() => {
                    return self.end_upload(self.ship.unread_message());
                }
                Ok(()) => self.note_success(),
                Err(failed) if self.wait_to_retry(&failed, true) => {}
                Err(_) => return,
            }
        }
    }
}
