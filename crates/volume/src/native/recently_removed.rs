//! Names that requests took away a moment ago. A watch tells of these, too, and the kernel has
//! forgotten them already: to tell it would be for nothing, and waits for a lock that whoever makes
//! the next file in the directory holds until we answer. If we are killed in that wait, nobody is
//! left to answer, and the kernel does not notice that we are gone.

use std::ffi::{CStr, CString};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

type RemovedNames = FxHashSet<(u64, CString)>;

/// Names by their directory: the newest, and those of the time before.
#[derive(Debug, Default)]
pub(crate) struct RecentlyRemoved(Mutex<[RemovedNames; 2]>);

impl RecentlyRemoved {
    /// A request took a name away. It is to be told before the kernel is answered.
    pub(super) fn note_removed(&self, dir: u64, name: &CStr) {
        self.0.lock()[0].insert((dir, name.to_owned()));
    }

    /// The name is there again, and may be taken away by others.
    pub(super) fn note_recreated(&self, dir: u64, name: &CStr) {
        self.take_removed(dir, name);
    }

    /// Whether it was a request that took the name away.
    pub(crate) fn take_removed(&self, dir: u64, name: &CStr) -> bool {
        let mut names = self.0.lock();
        if names.iter().all(FxHashSet::is_empty) {
            return false;
        }
        let key = (dir, name.to_owned());
        let [new, old] = &mut *names;
        new.remove(&key) | old.remove(&key)
    }

    /// Time passes: of those that nobody asked about by the next time nobody will.
    pub(crate) fn expire_oldest(&self) {
        let mut names = self.0.lock();
        let new = std::mem::take(&mut names[0]);
        names[1] = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_requests_took_away_is_told_from_what_others_did() {
        let gone = RecentlyRemoved::default();
        gone.note_removed(1, c"a");
        gone.note_removed(1, c"b");
        assert!(
            gone.take_removed(1, c"a")
                && !gone.take_removed(1, c"a")
                && !gone.take_removed(2, c"b")
        );
        gone.note_recreated(1, c"b");
        assert!(!gone.take_removed(1, c"b"), "whoever takes it away now is somebody else");
        gone.note_removed(1, c"c");
        gone.expire_oldest();
        assert!(gone.take_removed(1, c"c"));
        gone.note_removed(1, c"d");
        gone.expire_oldest();
        gone.expire_oldest();
        assert!(!gone.take_removed(1, c"d"));
    }
}
