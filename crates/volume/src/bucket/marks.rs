//! Names that may have changed since the last cut. Who changes one is inside meanwhile; a cut is
//! made while nobody is, so that it is what was at one moment.

use std::cell::Cell;
use std::ffi::CString;

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rustc_hash::FxHashSet;

use super::ship::Dirty;
use forebay_os::clock::{Clock, MachineClock};
use forebay_os::files::FileIdentity;

thread_local!(
    /// How many changes this thread is making: a rename is two.
    static INSIDE: Cell<u32> = const { Cell::new(0) }
);

#[derive(Debug, Default)]
pub(crate) struct Marks {
    gate: RwLock<()>,
    noted: Mutex<Noted>,
    /// There is something to do.
    pub(super) call: Condvar,
}

/// What is to be looked at, and what for.
#[derive(Debug, Default)]
pub(super) struct Noted {
    pub(super) dirty: Dirty,
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

impl Noted {
    /// Something has changed.
    pub(super) fn changed(&mut self) {
        self.fresh.get_or_insert_with(|| MachineClock.nanos());
    }

    /// All that has changed so far is in a cut, which is on its way.
    pub(super) fn is_cut(&mut self) {
        self.cut = self.oldest();
        self.fresh = None;
    }

    /// The bucket has all that was cut, or all `but` some, which are looked at again.
    pub(super) fn is_shipped(&mut self, but: bool) {
        let cut = self.cut.take();
        if but {
            self.fresh = cut.or(self.fresh);
        }
    }

    /// Since when the oldest change waits; `None`: nothing does.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.cut.or(self.fresh)
    }
}

/// Held by who changes a name.
#[derive(Debug)]
pub(crate) struct Inside<'m> {
    _gate: Option<RwLockReadGuard<'m, ()>>,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

impl Marks {
    /// Something is about to be changed.
    pub(crate) fn enter(&self) -> Inside<'_> {
        let is_first = INSIDE.replace(INSIDE.get() + 1) == 0;
        Inside { _gate: is_first.then(|| self.gate.read()) }
    }

    /// Whether this thread is changing a name: whoever waits for a cut then waits for itself.
    pub(super) fn is_inside() -> bool {
        INSIDE.get() > 0
    }

    /// This name in the folder at that path may be another.
    pub(crate) fn mark(&self, folder: Vec<u8>, name: CString) {
        let mut noted = self.noted.lock();
        let was_empty = noted.dirty.is_empty();
        noted.changed();
        noted.dirty.insert((folder, name));
        if was_empty || noted.dirty.len() == super::mirror::MANY {
            self.call.notify_all();
        }
    }

    /// The bytes of this file may be others.
    pub(crate) fn is_written(&self, file: FileIdentity) {
        let mut noted = self.noted.lock();
        noted.written.insert(file);
        noted.changed();
    }

    pub(super) fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock()
    }

    /// Nobody changes a name as long as this lives.
    pub(super) fn quiet(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_waits_for_changes_and_changes_for_a_cut() {
        let marks = Marks::default();
        let (outer, inner) = (marks.enter(), marks.enter());
        assert!(marks.gate.try_write().is_none());
        drop(inner);
        assert!(marks.gate.try_write().is_none(), "one of two is over");
        drop(outer);
        let quiet = marks.quiet();
        assert!(marks.gate.try_read().is_none());
        drop(quiet);
        drop(marks.enter());
    }
}
