//! Packed files that are in place already, hidden behind their packed names: the packed ones are the
//! truth until the run ends, but then there is nothing left to do for those that stayed as they
//! were. Which they are is in memory alone: after a kill all come home as if they were not there.

use std::ffi::CString;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::io::Errno;

use super::name::{InPlaceMarks, PackedName};
use super::record::{DirKey, Record};
use super::{Pack, Result};

/// By file: who makes it, and what was made of it in place, `None` while it is made.
#[derive(Debug, Default)]
pub(super) struct EagerCopies(Mutex<Files>);

#[derive(Debug, Default)]
struct Files {
    /// How many turns there were.
    turns: u64,
    by_ino: FxHashMap<u64, (EagerCopyAttempt, Option<DirKey>)>,
}

/// The making of one file in place. It ends when the file changes: another may begin then, while
/// this one does not know of it yet and still has its old bytes in hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EagerCopyAttempt {
    ino: u64,
    number: u64,
}

impl EagerCopyAttempt {
    /// A name that nothing else has on its way.
    pub fn staging_name(self) -> CString {
        CString::new(format!("packed.{}", self.number)).expect("digits hold no NUL")
    }
}

impl Files {
    fn is_current(&self, turn: EagerCopyAttempt) -> bool {
        self.by_ino.get(&turn.ino).is_some_and(|(now, _)| *now == turn)
    }
}

impl Pack {
    /// A file is about to be made in place, early. `None` if it is, or was.
    pub fn begin_eager_write_back(&self, ino: u64) -> Option<EagerCopyAttempt> {
        let mut files = self.early.0.lock();
        if files.by_ino.contains_key(&ino) {
            return None;
        }
        files.turns += 1;
        let turn = EagerCopyAttempt { ino, number: files.turns };
        files.by_ino.insert(ino, (turn, None));
        Some(turn)
    }

    /// This file in place is about to get the name of a packed one, and is to be hidden behind it.
    ///
    /// # Errors
    /// EBUSY when the packed one was changed or renamed meanwhile; ENOSPC and the like.
    pub fn hide_in_place_file(
        &self,
        turn: EagerCopyAttempt,
        dir: DirKey,
        name: &[u8],
        over: DirKey,
    ) -> Result<()> {
        let mut state = self.state.lock();
        let (dir, _) = state.index.find_directory(dir).ok_or(Errno::BUSY)?;
        let is_same = state
            .index
            .name_in_directory(dir, name)
            .is_some_and(|name| name.ino == turn.ino && name.marks() == InPlaceMarks::default());
        if !is_same || !self.early.0.lock().is_current(turn) {
            return Err(Errno::BUSY);
        }
        state.write_record(&Record::Hide { dir, name, over }, &[])
    }

    /// This file in place did not get the name; what gets its number later is somebody else's. What
    /// another turn has hidden there stays so.
    pub fn unhide_in_place_file(
        &self,
        turn: EagerCopyAttempt,
        dir: DirKey,
        name: &[u8],
        over: DirKey,
    ) {
        let mut state = self.state.lock();
        let is_hidden = |name: &PackedName| name.ino == turn.ino && name.marks().over == Some(over);
        if let Some((dir, _)) = state.index.find_directory(dir)
            && state.index.name_in_directory(dir, name).is_some_and(is_hidden)
        {
            let over = DirKey { inode: 0, born: 0 };
            if let Err(error) = state.write_record(&Record::Hide { dir, name, over }, &[]) {
                tracing::error!("a packed file still hides what was to replace it: {error}");
            }
        }
    }

    /// It has the name now.
    pub fn finish_eager_write_back(&self, turn: EagerCopyAttempt, made: DirKey) {
        let mut files = self.early.0.lock();
        if files.is_current(turn) {
            files.by_ino.insert(turn.ino, (turn, Some(made)));
        }
    }

    /// It was not made.
    pub fn cancel_eager_write_back(&self, turn: EagerCopyAttempt) {
        let mut files = self.early.0.lock();
        if files.is_current(turn) {
            files.by_ino.remove(&turn.ino);
        }
    }

    /// What was made of a file in place, if the file has not changed since.
    pub fn eager_copy(&self, ino: u64) -> Option<DirKey> {
        self.early.0.lock().by_ino.get(&ino).and_then(|(_, made)| *made)
    }

    /// A file changes: what was made of it is history.
    pub fn forget_eager_copy(&self, ino: u64) {
        self.early.0.lock().by_ino.remove(&ino);
    }
}
