//! Who reads a file in place from its copy on a tier (`tiers::cache`). The file at home is opened
//! first, as the caller, and stays open: it decides who may read, and has the attributes and locks;
//! only the bytes come from the copy.
//!
//! All who have a file open read from the same of the two, since the kernel can read past us from
//! one file only (`iostate`), and so that nobody sees two truths. Past us goes only who reads a file
//! that nobody inside has written: readers that go past us can't follow a writer home.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::fs::Statx;
use rustix::io::Errno;

use super::node::InodeOpens;
use super::open::opens_for_writing;
use super::{FileHandle, Native, Node, Result};
use crate::tiers::CopyLease;

/// Workers that may wait at a time: there are four at least.
const WAITING_MAX: u32 = 3;
/// How often, and how long apart, closes are looked for: 200 ms, of which the first few suffice.
const LOOKS: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(4);

impl FileHandle {
    /// What its bytes are read from.
    pub(crate) fn read_descriptor(&self) -> &OwnedFd {
        let copy = self.copy.as_ref().filter(|copy| !copy.is_recalled());
        copy.map_or(self.own_file(), |copy| &copy.file)
    }
}

impl Native {
    /// The copy that a fresh open reads; `None`: from home.
    ///
    /// # Errors
    /// ETXTBSY for whoever would write a file that others read from its copy past us.
    pub(super) fn lend_copy_for_open(
        &self,
        node: &Node,
        open: &mut InodeOpens,
        flags: u32,
        home: &OwnedFd,
        stat: &Statx,
    ) -> Result<Option<Arc<CopyLease>>> {
        let Some(tiers) = self.tiers().filter(|tiers| tiers.has_cache()) else { return Ok(None) };
        if opens_for_writing(flags) {
            node.written.store(true, Relaxed);
            return self.recall_copy(node, open).map(|()| None);
        }
        let plain = u32::from(stat.stx_mode) & libc::S_IFMT == libc::S_IFREG;
        if !plain || !node.is_in_place() || node.foreign.load(Relaxed) {
            return Ok(None);
        }
        let path = self.path_of(node);
        let old = open.copy.as_ref().is_some_and(|copy| !copy.matches_original(stat));
        if old && open.backing.is_none() {
            self.recall_copy(node, open)?;
        }
        if open.shared.is_open() {
            tiers.count_joined_reader(&path, open.copy.is_some());
        } else if !path.is_empty() && stat.stx_size > 0 && flags & libc::O_DIRECT as u32 == 0 {
            // The tier's file system may know no direct I/O where home does.
            open.copy = tiers.lend_copy(&path, home, stat);
        }
        Ok(open.copy.clone())
    }

    /// The kernel tells of a last close when it has already returned, so a copy that stands in the
    /// way of an open may be nobody's any more: waits a little for such closes.
    pub(super) fn wait_for_closes(&self, node: &Node, in_the_way: impl Fn(&CopyLease) -> bool) {
        let held = || {
            let open = node.open.lock();
            let copy = open.copy.as_ref().filter(|_| open.backing.is_some());
            copy.filter(|copy| in_the_way(copy)).cloned()
        };
        if held().is_none() {
            return;
        }
        // Somebody must be left to be told.
        if self.waiting.fetch_add(1, Relaxed) < WAITING_MAX {
            for _ in 0..LOOKS {
                std::thread::sleep(BETWEEN);
                if held().is_none() {
                    break;
                }
            }
            held().iter().for_each(|copy| copy.hold());
        }
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// Somebody is about to change a file: no copy of it is good any more.
    ///
    /// # Errors
    /// ETXTBSY where readers can't be sent home: the kernel reads the copy for them.
    pub(super) fn recall_copy(&self, node: &Node, open: &mut InodeOpens) -> Result<()> {
        let Some(tiers) = self.tiers().filter(|tiers| tiers.has_cache()) else { return Ok(()) };
        if let Some(copy) = &open.copy {
            if open.backing.is_some() {
                // When its readers are gone it is read from home: whoever tries again can write it,
                // also while it reads it (`rsync --inplace`).
                node.foreign.store(true, Relaxed);
                return Err(Errno::TXTBSY);
            }
            copy.recall_readers();
            open.copy = None;
        }
        tiers.forget_copy(node.identity());
        Ok(())
    }

    /// The last handle of a file was closed: the moment to copy what nothing is copied ahead of.
    pub(super) fn copy_after_last_close(&self, handle: &FileHandle) {
        let node = &handle.node;
        let Some(tiers) = self.tiers().filter(|tiers| tiers.has_cache()) else { return };
        if !handle.writes && node.is_in_place() && !node.foreign.load(Relaxed) {
            // The thread still wears what its last caller wore.
            self.credentials.revert();
            tiers.copy_after_close(|| self.path_of(node), &handle.file, node.identity());
        }
    }
}
