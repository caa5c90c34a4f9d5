//! Files that are open while their names go: with the next cut the bucket may forget their bytes, so
//! all of these come here before it is brought.

use std::sync::Arc;

use super::super::file_blocks::FileBlocks;
use super::EvictedFiles;

impl EvictedFiles {
    /// A name of this file is about to go.
    pub(crate) fn note_unlink(self: &Arc<Self>, body: &Arc<FileBlocks>) {
        if !body.is_whole() {
            self.begin_filling(body);
            self.losing.lock().push(Arc::clone(body));
        }
    }

    /// Brings what they miss. Where it can't be had, whoever reads on is told then.
    pub(in super::super) fn fetch_unlinked_files(self: &Arc<Self>) {
        let losing = std::mem::take(&mut *self.losing.lock());
        for body in losing {
            if self.fetch_all(&body).is_err() {
                tracing::error!("file {} is open and has lost its bytes", body.ino);
            }
        }
    }
}
