//! What a name waits for.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::{SyncJob, SyncQueue, SyncTarget};
use crate::tiers::Tiers;
use forebay_os::file_identity::statx_nofollow;

impl SyncQueue {
    /// Nothing of this is still to be done, and nothing failed.
    pub(in crate::tiers) fn is_settled(&self, which: &SyncTarget) -> bool {
        let queue = self.queue.lock();
        queue.busy.as_ref() != Some(which)
            && !queue.waiting.iter().any(|other| other.which == *which)
            && !queue.lost.contains_key(which)
    }
}

impl Tiers {
    /// Has a sync done soon, in order.
    ///
    /// # Errors
    /// An earlier one failed.
    pub(crate) fn enqueue_sync(&self, sync: SyncJob) -> Result<(), Errno> {
        self.syncing.enqueue(sync)
    }

    /// A name is about to change: waits until bytes that were asked to be durable are, those of
    /// the file, or of all if it is a directory.
    ///
    /// # Errors
    /// They could not be made so.
    pub(crate) fn sync_before_naming(&self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        if self.syncing.is_idle() {
            return Ok(());
        }
        match self.recognise_link(dir, name) {
            Some(placed) => {
                self.syncing.wait_until_durable(&SyncTarget::Body(placed.room, placed.key))
            }
            None if is_directory_at(dir, name) => self.syncing.wait_until_all_durable(),
            None => Ok(()),
        }
    }

    /// The same for a packed file: what is not in the log, which has names and bytes in order.
    ///
    /// # Errors
    /// They could not be made so.
    pub(crate) fn sync_before_naming_packed(&self, ino: u64) -> Result<(), Errno> {
        match self.syncing.is_idle() {
            true => Ok(()),
            false => self.syncing.wait_until_durable(&SyncTarget::PackedBody(ino)),
        }
    }
}

fn is_directory_at(dir: BorrowedFd<'_>, name: &CStr) -> bool {
    let mode = statx_nofollow(dir, name).map_or(0, |stat| u32::from(stat.stx_mode));
    mode & libc::S_IFMT == libc::S_IFDIR
}
