//! What others ask who ships: how far it is, and what it has learnt.

use std::sync::Arc;

use super::super::scan::TreeScanner;
use super::super::tree::VolumeTree;
use super::{CommitUploader, DirtyNames, MoveObserver, Pending};

impl CommitUploader {
    /// Says from now on where bytes of files lie.
    pub(crate) fn set_readers(&mut self, readers: Arc<dyn MoveObserver>) {
        self.readers = readers;
    }

    /// What is known of the local tree.
    pub(crate) fn scan_mut(&mut self) -> &mut TreeScanner {
        &mut self.scan
    }

    /// Where the log goes on.
    pub(crate) fn next_segment(&self) -> u64 {
        self.log.next_segment()
    }

    /// Files that wait to be written, and their bytes.
    pub(crate) fn waiting_uploads(&self) -> (u64, u64) {
        match &self.pending {
            Some(Pending::Cut(found)) => {
                let bytes = found.large.iter().map(|large| large.stamp.size()).sum();
                (found.large.len() as u64 + 1, bytes)
            }
            Some(Pending::Segment(segment)) => (1, segment.bytes.len() as u64),
            None => (0, 0),
        }
    }

    /// What the bucket will know when all is shipped.
    pub(crate) fn tree(&self) -> &VolumeTree {
        &self.tree
    }

    /// Whether a cut waits for the bucket: no other can be made.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Names that are dirty again: their files changed while they were stored.
    pub(crate) fn take_changed_names(&mut self) -> DirtyNames {
        std::mem::take(&mut self.again)
    }
}
