//! Who may do something with a packed name, while it may get a file in place that hides behind it.

use std::ffi::CStr;
use std::hash::{BuildHasher, BuildHasherDefault};

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHasher;
use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use crate::native::packed::NameInDirectory;
use crate::native::{Native, Node, Result, leads_to_file};
use forebay_packlog::PackedEntry;

/// Names that are apart from each other.
const STRIPES: usize = 64;

/// One at a time gives a packed name a file in place, or moves or removes the name.
#[derive(Debug)]
pub(super) struct NameLocks([Mutex<()>; STRIPES]);

impl Default for NameLocks {
    fn default() -> NameLocks {
        NameLocks([const { Mutex::new(()) }; STRIPES])
    }
}

fn stripe_of_name(dir: &Node, name: &CStr) -> usize {
    let hasher = BuildHasherDefault::<FxHasher>::default();
    (hasher.hash_one((dir.id, name)) >> 32) as usize % STRIPES
}

impl Native {
    /// Holds a name: nothing gets it in place meanwhile.
    pub(in crate::native) fn lock_name(
        &self,
        dir: &Node,
        name: &CStr,
    ) -> Option<MutexGuard<'_, ()>> {
        self.writes_back_packed_eagerly()
            .then(|| self.early.names.0[stripe_of_name(dir, name)].lock())
    }

    /// Holds two.
    pub(in crate::native) fn lock_two_names(
        &self,
        (dir, name): (&Node, &CStr),
        (to, new): (&Node, &CStr),
    ) -> [Option<MutexGuard<'_, ()>>; 2] {
        let (one, other) = (stripe_of_name(dir, name), stripe_of_name(to, new));
        if !self.writes_back_packed_eagerly() {
            return [None, None];
        }
        // In one order, so that nobody waits for who waits for them.
        let first = self.early.names.0[one.min(other)].lock();
        let second = (one != other).then(|| self.early.names.0[one.max(other)].lock());
        [Some(first), second]
    }

    /// Removes what is hidden behind a packed name that is about to lead elsewhere.
    pub(in crate::native) fn remove_hidden_file(
        &self,
        at: NameInDirectory<'_>,
        found: &PackedEntry,
    ) -> Result<()> {
        let Some(pack) = self.pack() else { return Ok(()) };
        if found.over.is_some_and(|over| leads_to_file(at.fd, at.name, over)) {
            pack.forget_eager_copy(found.ino);
            let _change = self.begin_change(at.dir, Some(at.name));
            match unlinkat(at.fd, at.name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }
}
