//! A move under way, which ends when somebody uses the file.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::lease;

/// A move under way, as those who use the file know it.
#[derive(Debug)]
pub(crate) struct MigrationTicket {
    /// The file that is read, with the lease.
    pub(super) file: OwnedFd,
    pub(super) leased: bool,
    ended: AtomicBool,
}

impl MigrationTicket {
    pub(super) fn new(file: OwnedFd, leased: bool) -> MigrationTicket {
        MigrationTicket { file, leased, ended: AtomicBool::new(false) }
    }

    /// Somebody uses the file: the move ends, and nobody waits for it.
    pub(super) fn cancel_migration(&self) {
        self.ended.store(true, Relaxed);
        if self.leased {
            lease::release_lease(self.file.as_fd());
        }
    }

    /// Whether nobody has come, from inside or outside.
    pub(super) fn is_undisturbed(&self) -> bool {
        if self.leased && !lease::is_lease_kept(self.file.as_fd()) {
            self.cancel_migration();
        }
        !self.ended.load(Relaxed)
    }
}
