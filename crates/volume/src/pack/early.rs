//! Packed files that are in place already, hidden behind their packed names: the packed ones are the
//! truth until the run ends, but then there is nothing left to do for those that stayed as they
//! were. Which they are is in memory alone: after a kill all come home as if they were not there.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::io::Errno;

use super::name::Marks;
use super::record::{DirKey, Record};
use super::{Pack, Result};

/// By file: what was made of it in place, `None` while it is made.
#[derive(Debug, Default)]
pub(super) struct Early(Mutex<FxHashMap<u64, Option<DirKey>>>);

impl Pack {
    /// A file is about to be made in place, early. False if it is, or was.
    pub(crate) fn begin_early(&self, ino: u64) -> bool {
        let mut early = self.early.0.lock();
        let first = !early.contains_key(&ino);
        early.entry(ino).or_insert(None);
        first
    }

    /// This file in place is about to get the name of a packed one, and is to be hidden behind it.
    ///
    /// # Errors
    /// EBUSY when the packed one was changed or renamed meanwhile; ENOSPC and the like.
    pub(crate) fn hide(&self, ino: u64, dir: DirKey, name: &[u8], over: DirKey) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.dir(dir).ok_or(Errno::BUSY)?;
        let is_same = state
            .index
            .at(dir, name)
            .is_some_and(|name| name.ino == ino && name.marks() == Marks::default());
        if !is_same || !self.early.0.lock().contains_key(&ino) {
            return Err(Errno::BUSY);
        }
        state.write(&Record::Hide { dir, name, over }, &[])
    }

    /// It did not get the name; what gets its number later is somebody else's.
    pub(crate) fn unhide(&self, ino: u64, dir: DirKey, name: &[u8]) {
        self.not_early(ino);
        let mut state = self.state.lock();
        if let Some((dir, _)) = state.index.dir(dir)
            && state.index.at(dir, name).is_some_and(|name| name.ino == ino)
        {
            let over = DirKey { inode: 0, born: 0 };
            let _ = state.write(&Record::Hide { dir, name, over }, &[]);
        }
    }

    /// It has the name now.
    pub(crate) fn made_early(&self, ino: u64, made: DirKey) {
        if let Some(early) = self.early.0.lock().get_mut(&ino) {
            *early = Some(made);
        }
    }

    /// What was made of a file in place, if the file has not changed since.
    pub(crate) fn early(&self, ino: u64) -> Option<DirKey> {
        self.early.0.lock().get(&ino).copied().flatten()
    }

    /// A file changes: what was made of it is history.
    pub(crate) fn not_early(&self, ino: u64) {
        self.early.0.lock().remove(&ino);
    }
}
