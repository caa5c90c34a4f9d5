//! What a volume that another machine writes does beside its local tree: only its log changes that.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::Statx;

use super::super::evicted_source::{bucket_thread_counts, evicted_file_source};
use super::super::extended::OURS;
use super::ReadReplica;
use crate::backend::{Backend, ContentSource, Result};
use forebay_os::file_identity::FileIdentity;

impl Backend for ReadReplica {
    fn thread_counts(&self, _usual: usize) -> (usize, usize) {
        bucket_thread_counts()
    }

    fn open_source(
        self: Arc<Self>,
        file: &FileIdentity,
        descriptor: BorrowedFd<'_>,
    ) -> Result<Option<Arc<dyn ContentSource>>> {
        evicted_file_source(&self.bodies, file, self.open_evicted_file(file, descriptor))
    }

    fn apply_times(
        &self,
        file: &FileIdentity,
        stat: &mut Statx,
        again: &dyn Fn() -> Result<Statx>,
    ) {
        self.bodies.give_times(file, stat, again);
    }

    fn hides_attribute(&self, name: &[u8]) -> bool {
        name.starts_with(OURS)
    }

    fn current_error(&self) -> Option<String> {
        self.unreachable_message()
    }

    fn finish_serving(&self) -> Vec<String> {
        self.end_following()
    }

    fn drop_local_state(&self) {
        self.remove_local_tree();
    }
}
