//! An open file whose bytes are in a bucket.

use std::sync::Arc;

use super::evicted_files::{self, EvictedFiles};
use super::file_blocks::FileBlocks;
use crate::backend::{ContentSource, Result};
use forebay_os::file_identity::FileIdentity;

/// Threads that serve a tree whose bytes come from a bucket: many wait for it.
const THREADS: usize = 32;
/// Of those that wait, as many may be added as programs may wait in.
const THREADS_MOST: usize = 1024;

/// How many threads serve such a tree, and how many at most.
pub(super) fn bucket_thread_counts() -> (usize, usize) {
    (THREADS, THREADS_MOST)
}

/// What brings the bytes of one file.
#[derive(Debug)]
struct EvictedSource {
    bodies: Arc<EvictedFiles>,
    file: FileIdentity,
    body: Arc<FileBlocks>,
}

/// What brings the bytes of a file that was opened, if they are not all here.
///
/// # Errors
/// Those with which `body` was not had.
pub(super) fn evicted_file_source(
    bodies: &Arc<EvictedFiles>,
    file: &FileIdentity,
    body: evicted_files::Result<Option<Arc<FileBlocks>>>,
) -> Result<Option<Arc<dyn ContentSource>>> {
    let far = |body| EvictedSource { bodies: Arc::clone(bodies), file: *file, body };
    Ok(body?.map(|body| Arc::new(far(body)) as Arc<dyn ContentSource>))
}

impl ContentSource for EvictedSource {
    fn is_complete(&self) -> bool {
        self.body.is_whole()
    }

    fn fetch_range(&self, offset: u64, length: u64) -> Result<()> {
        self.bodies.fetch_for_read(&self.body, offset..offset.saturating_add(length))
    }

    fn fetch_all(&self) -> Result<()> {
        self.bodies.fetch_all(&self.body)
    }

    fn note_changed(&self) {
        self.body.mark_changed();
    }

    fn empty_without_fetch(&self, empty: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.bodies.discard_missing(&self.body, empty)
    }

    fn note_name_lost(&self) {
        self.bodies.note_unlink(&self.body);
    }

    fn close(&self) {
        self.bodies.close_evicted_file(&self.file, &self.body);
    }
}
