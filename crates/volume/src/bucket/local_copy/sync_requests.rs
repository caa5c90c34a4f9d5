//! Asking for files to be in the bucket, and waiting for that.

use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::FsyncTarget;
use rustix::io::Errno;

use super::super::placeholder_tree::mark_synced;
use super::LocalCopy;
use crate::backend::SyncTicket;
use forebay_os::file_identity::FileIdentity;

impl LocalCopy {
    /// Asks for the bytes of a file and all that was done before to be brought to the bucket, if
    /// its rule says so, or it was mounted so. Of a directory it counts what a rule says of all in
    /// it.
    pub(super) fn request_sync(&self, path: &[u8], file: FileIdentity) -> Option<SyncTicket> {
        if self.rules.fsync_target(path).unwrap_or(self.durable) == FsyncTarget::Local {
            return None;
        }
        let mut noted = self.marks.lock_noted();
        noted.synced.insert(file);
        noted.asked += 1;
        self.marks.call.notify_all();
        Some(SyncTicket { number: noted.asked, file })
    }

    /// A file is about to be made durable on this machine's disk: says so in the file, so that it
    /// counts after a power failure.
    pub(super) fn note_synced(&self, file: BorrowedFd<'_>) {
        if let Err(error) = mark_synced(file, self.next_segment.load(Relaxed)) {
            tracing::warn!("a file that is synced says nothing of it: {error}");
        }
    }

    /// Waits until the bucket has what was asked for.
    ///
    /// # Errors
    /// EIO: it will not have it.
    pub(super) fn wait_for_sync(&self, ticket: SyncTicket) -> Result<(), Errno> {
        let SyncTicket { number, file } = ticket;
        let mut noted = self.marks.lock_noted();
        while noted.done < number {
            if noted.lost.is_some() || noted.over {
                return Err(Errno::IO);
            }
            self.marks.call.wait(&mut noted);
        }
        if noted.unread.contains(&file) {
            return Err(Errno::IO);
        }
        Ok(())
    }
}
