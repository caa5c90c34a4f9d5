//! What the one writer of a volume in a bucket does beside its local tree.

use std::ffi::CString;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use parking_lot::RwLockReadGuard;
use rustix::fs::Statx;

use super::super::extended::OURS;
use super::super::source::{far_bytes, threads};
use super::Mirror;
use crate::backend::{Backend, Gate, Result, Source, SyncTicket};
use crate::ipc::{BucketNow, BucketWaiting, UploadReport, WriteBackProgress};
use forebay_os::files::FileIdentity;

impl Backend for Mirror {
    fn threads(&self, _usual: usize) -> (usize, usize) {
        threads()
    }

    fn gate(&self) -> Option<&Gate> {
        Some(&self.marks.gate)
    }

    fn name_changes(&self, folder: Vec<u8>, name: CString) {
        self.marks.mark(folder, name);
    }

    fn open(
        self: Arc<Self>,
        file: &FileIdentity,
        descriptor: BorrowedFd<'_>,
    ) -> Result<Option<Arc<dyn Source>>> {
        far_bytes(&self.bodies, file, self.bodies.open(file, descriptor))
    }

    fn opening(&self) -> Option<RwLockReadGuard<'_, ()>> {
        Some(self.opening.read())
    }

    fn is_away(&self, file: &FileIdentity) -> bool {
        self.bodies.is_away(file)
    }

    fn bytes_change(&self, file: FileIdentity) {
        self.marks.is_written(file);
    }

    fn give_times(&self, file: &FileIdentity, stat: &mut Statx, again: &dyn Fn() -> Result<Statx>) {
        self.bodies.give_times(file, stat, again);
    }

    fn hides_attribute(&self, name: &[u8]) -> bool {
        name.starts_with(OURS)
    }

    fn wait_for_room(&self) {
        self.waits_for_room();
    }

    fn makes_room(&self) -> bool {
        self.waits_for_others_room()
    }

    fn is_synced(&self, descriptor: BorrowedFd<'_>) {
        self.note_synced(descriptor);
    }

    fn begin_sync(&self, path: &[u8], file: FileIdentity) -> Option<SyncTicket> {
        self.ask(path, file)
    }

    fn finish_sync(&self, ticket: SyncTicket) -> Result<()> {
        self.wait(ticket)
    }

    fn now(&self) -> Option<BucketNow> {
        Some(self.figures())
    }

    fn ship(
        &self,
        tell: &dyn Fn(&WriteBackProgress),
        waits: &dyn Fn(&BucketWaiting),
    ) -> Option<UploadReport> {
        Some(self.bring_all(tell, waits))
    }
}
