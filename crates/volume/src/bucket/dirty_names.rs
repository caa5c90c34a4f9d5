//! Names that may have changed since the last cut. Who changes one passes a gate; a cut is made
//! while nobody is inside, so that it is what was at one moment.

use std::ffi::CString;

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustc_hash::FxHashSet;

use super::commit_upload::DirtyNames;
use crate::backend::ChangeGate;
use forebay_os::clock::{Clock, MachineClock};
use forebay_os::file_identity::FileIdentity;

/// Names after which it is not waited for.
pub(super) const MANY: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct DirtyNameTracker {
    pub(super) gate: ChangeGate,
    noted: Mutex<NotedChanges>,
    /// There is something to do.
    pub(super) call: Condvar,
}

/// What is to be looked at, and what for.
#[derive(Debug, Default)]
pub(super) struct NotedChanges {
    pub(super) dirty: DirtyNames,
    /// Files that may have been written.
    pub(super) written: FxHashSet<FileIdentity>,
    /// Files of which the bytes count although somebody may write more.
    pub(super) synced: FxHashSet<FileIdentity>,
    /// Files that can't be read, and are not in the bucket as they are.
    pub(super) unread: FxHashSet<FileIdentity>,
    /// How often somebody asked for a cut; how many of these are in the bucket.
    pub(super) asked: u64,
    pub(super) done: u64,
    /// Somebody waits for room on this machine; how often there may have been more since it was
    /// mounted; and whether that helped nobody lately.
    pub(super) crowded: bool,
    pub(super) rounds: u64,
    pub(super) is_vain: bool,
    /// Nobody uses the volume any more.
    pub(super) over: bool,
    /// Nothing comes into the bucket any more, and why.
    pub(super) lost: Option<String>,
    /// Since when the oldest change waits that no cut has, and of those that one has (nanoseconds of
    /// the machine's clock).
    fresh: Option<u64>,
    cut: Option<u64>,
}

impl NotedChanges {
    /// Something has changed.
    pub(super) fn note_change(&mut self) {
        self.fresh.get_or_insert_with(|| MachineClock.elapsed_nanos());
    }

    /// All that has changed so far is in a cut, which is on its way.
    pub(super) fn note_commit(&mut self) {
        self.cut = self.oldest_change();
        self.fresh = None;
    }

    /// The bucket has all that was cut, or all `but` some, which are looked at again.
    pub(super) fn note_uploaded(&mut self, but: bool) {
        let cut = self.cut.take();
        if but {
            self.fresh = cut.or(self.fresh);
        }
    }

    /// Since when the oldest change waits; `None`: nothing does.
    pub(super) fn oldest_change(&self) -> Option<u64> {
        self.cut.or(self.fresh)
    }
}

impl DirtyNameTracker {
    /// This name in the folder at that path may be another.
    pub(crate) fn mark_dirty(&self, folder: Vec<u8>, name: CString) {
        let mut noted = self.noted.lock();
        let was_empty = noted.dirty.is_empty();
        noted.note_change();
        noted.dirty.insert((folder, name));
        if was_empty || noted.dirty.len() == MANY {
            self.call.notify_all();
        }
    }

    /// The bytes of this file may be others.
    pub(crate) fn mark_written(&self, file: FileIdentity) {
        let mut noted = self.noted.lock();
        noted.written.insert(file);
        noted.note_change();
    }

    pub(super) fn lock_noted(&self) -> MutexGuard<'_, NotedChanges> {
        self.noted.lock()
    }
}
