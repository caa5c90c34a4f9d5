//! What the one writer of a volume in a bucket does beside its local tree.

use std::ffi::CString;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use parking_lot::RwLockReadGuard;
use rustix::fs::Statx;

use super::super::evicted_source::{bucket_thread_counts, evicted_file_source};
use super::super::extended::OURS;
use super::LocalCopy;
use crate::backend::{Backend, ChangeGate, ContentSource, Result, SyncTicket};
use crate::ipc::{BucketStatus, BucketWaiting, UploadReport, WriteBackProgress};
use forebay_os::file_identity::FileIdentity;

impl Backend for LocalCopy {
    fn thread_counts(&self, _usual: usize) -> (usize, usize) {
        bucket_thread_counts()
    }

    fn gate(&self) -> Option<&ChangeGate> {
        Some(&self.marks.gate)
    }

    fn note_name_change(&self, folder: Vec<u8>, name: CString) {
        self.marks.mark_dirty(folder, name);
    }

    fn open_source(
        self: Arc<Self>,
        file: &FileIdentity,
        descriptor: BorrowedFd<'_>,
    ) -> Result<Option<Arc<dyn ContentSource>>> {
        evicted_file_source(&self.bodies, file, self.bodies.open_evicted_file(file, descriptor))
    }

    fn pin_bytes_for_open(&self) -> Option<RwLockReadGuard<'_, ()>> {
        Some(self.opening.read())
    }

    fn is_evicted(&self, file: &FileIdentity) -> bool {
        self.bodies.is_evicted(file)
    }

    fn note_bytes_change(&self, file: FileIdentity) {
        self.marks.mark_written(file);
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

    fn wait_for_room(&self) {
        self.wait_for_local_room();
    }

    fn try_free_space(&self) -> bool {
        self.wait_for_freed_room()
    }

    fn before_local_sync(&self, descriptor: BorrowedFd<'_>) {
        self.note_synced(descriptor);
    }

    fn begin_sync(&self, path: &[u8], file: FileIdentity) -> Option<SyncTicket> {
        self.request_sync(path, file)
    }

    fn finish_sync(&self, ticket: SyncTicket) -> Result<()> {
        self.wait_for_sync(ticket)
    }

    fn bucket_status(&self) -> Option<BucketStatus> {
        Some(self.current_status())
    }

    fn finish_upload(
        &self,
        tell: &dyn Fn(&WriteBackProgress),
        waits: &dyn Fn(&BucketWaiting),
    ) -> Option<UploadReport> {
        Some(self.finish_upload(tell, waits))
    }
}
