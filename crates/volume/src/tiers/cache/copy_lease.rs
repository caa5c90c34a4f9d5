//! A copy in the hands of those who have its file open.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use forebay_model::TreeId;
use rustix::fs::Statx;
use rustix::io::Errno;

use super::Tiers;
use super::copy_table::CopyNumber;
use super::stamp::CopyStamp;
use forebay_os::file_identity::statx_nofollow;

/// A copy that is read.
pub(crate) struct CopyLease {
    /// The copy, open to read.
    pub(crate) file: OwnedFd,
    /// Its own attributes, which nobody is shown.
    pub(crate) stat: Statx,
    /// The number of its tier in the record.
    pub(crate) tree: TreeId,
    stamp: CopyStamp,
    recalled: AtomicBool,
    held: AtomicBool,
    /// After `file`: its bytes are free when it is closed.
    _reader: CopyReader,
}

impl CopyLease {
    pub(super) fn open(
        tiers: &Arc<Tiers>,
        number: CopyNumber,
        room: usize,
        name: &CStr,
        stamp: CopyStamp,
    ) -> Result<CopyLease, Errno> {
        // Counted already by the table, so to be taken off it whatever happens.
        let reader = CopyReader { tiers: Arc::clone(tiers), number };
        let room = &tiers.rooms[room];
        let file = room.open_copy(name)?;
        let stat = statx_nofollow(file.as_fd(), c"")?;
        let (recalled, held) = (AtomicBool::new(false), AtomicBool::new(false));
        Ok(CopyLease { file, stat, tree: room.tree, stamp, recalled, held, _reader: reader })
    }

    /// Whether it is of the file with these attributes.
    pub(crate) fn matches_original(&self, home: &Statx) -> bool {
        self.stamp == CopyStamp::from_statx(home)
    }

    /// Somebody has waited for its readers in vain: who only reads need not.
    pub(crate) fn hold(&self) {
        self.held.store(true, Relaxed);
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Relaxed)
    }

    /// From now on its readers read from home.
    pub(crate) fn recall_readers(&self) {
        self.recalled.store(true, Relaxed);
    }

    pub(crate) fn is_recalled(&self) -> bool {
        self.recalled.load(Relaxed)
    }
}

impl std::fmt::Debug for CopyLease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lent").field("file", &self.file).finish_non_exhaustive()
    }
}

/// One who is counted in the table.
struct CopyReader {
    tiers: Arc<Tiers>,
    number: CopyNumber,
}

impl Drop for CopyReader {
    fn drop(&mut self) {
        let free = self.tiers.cache.table.lock().close_reader(self.number);
        if let Some((room, bytes)) = free {
            self.tiers.rooms[room].charge_bytes(bytes, 0);
        }
    }
}
