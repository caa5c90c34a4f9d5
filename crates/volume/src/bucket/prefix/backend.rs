//! What a prefix of somebody's bucket does beside the directory that stands for it: nothing in it
//! is ever changed.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::Statx;

use super::super::evicted_source::{bucket_thread_counts, evicted_file_source};
use super::super::extended::OURS;
use super::Prefix;
use crate::backend::{Backend, ContentSource, FolderOpener, Result};
use forebay_os::file_identity::FileIdentity;

impl Backend for Prefix {
    fn thread_counts(&self, _usual: usize) -> (usize, usize) {
        bucket_thread_counts()
    }

    fn is_listed(&self, folder: u64) -> bool {
        self.has_listed(folder)
    }

    fn list_directory(&self, folder: u64, open: FolderOpener<'_>) -> Result<()> {
        self.list_directory_once(folder, open)
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

    fn warnings_so_far(&self) -> Vec<String> {
        self.error_messages()
    }

    fn finish_serving(&self) -> Vec<String> {
        self.end_reading()
    }
}
