//! The moment when a file gets its name in place, and nobody is to see that its directory changed.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use parking_lot::MutexGuard;
use rustix::io::Errno;

use crate::native::{Native, Node, Result, boot_nanos};
use forebay_os::file_identity::statx_nofollow;

/// How often a directory is looked at that is changed meanwhile.
const LOOKS: usize = 4;

/// A file gets its name as long as this lives, and nobody sets the times of its directory.
pub(super) struct HiddenCreation<'n> {
    dir: &'n Node,
    fd: BorrowedFd<'n>,
    _alone: MutexGuard<'n, ()>,
}

impl Drop for HiddenCreation<'_> {
    fn drop(&mut self) {
        let folder = self.dir.folder();
        let (changes, seen) = (folder.change_count(), boot_nanos());
        folder.end_hidden_creation(changes, seen, statx_nofollow(self.fd, c"").ok());
    }
}

impl Native {
    pub(super) fn begin_hidden_creation<'n>(
        &self,
        dir: &'n Arc<Node>,
        fd: BorrowedFd<'n>,
        name: &CStr,
    ) -> Result<HiddenCreation<'n>> {
        let folder = dir.folder();
        let alone = folder.lock_times();
        for _ in 0..LOOKS {
            let changes = folder.change_count();
            // In place, now: what is believed of it may be older than what others did there.
            let stat = statx_nofollow(fd, c"")?;
            if let Some(first) = folder.begin_hidden_creation(name, changes, &stat) {
                if first {
                    self.note_touched(dir);
                }
                return Ok(HiddenCreation { dir, fd, _alone: alone });
            }
        }
        Err(Errno::BUSY)
    }
}
