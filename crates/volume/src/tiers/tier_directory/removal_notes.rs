//! Which bodies are about to lose their last name. A name goes before its body, so a kill between
//! the two leaves a body without a name, just as one does who removes a link from outside. The
//! first has to go, the second is somebody's only copy; a note, written before the name goes, tells
//! them apart.
//!
//! The notes lie beside the room, where nobody but this user writes, in slots that are used again:
//! a key is never given twice, so one that was dealt with long ago does no harm. They need not be
//! durable: after a power failure either the name is still there, or the body waits for somebody to
//! look at it.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::pwrite;

/// The longest name of a file, and a NUL.
const SLOT_BYTES: usize = 256;
/// More than requests are answered at once; of more, some would not be noted.
const SLOTS: u64 = 64;

/// The notes of one room.
#[derive(Debug)]
pub(crate) struct RemovalNotes {
    path: PathBuf,
    notes: OnceLock<Option<OwnedFd>>,
    next: AtomicU64,
}

/// Where a body is noted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemovalSlot(u64);

/// Where the notes of a room are.
pub(in crate::tiers) fn notes_path(room: &Path) -> PathBuf {
    let mut path = OsString::from(room);
    path.push(".leaving");
    PathBuf::from(path)
}

/// The bodies that an earlier daemon had noted.
pub(super) fn noted_removals(room: &Path) -> BTreeSet<CString> {
    let notes = std::fs::read(notes_path(room)).unwrap_or_default();
    let key = |slot: &[u8]| CStr::from_bytes_until_nul(slot).ok().map(CStr::to_owned);
    notes.chunks(SLOT_BYTES).filter_map(key).filter(|key| !key.is_empty()).collect()
}

impl RemovalNotes {
    /// Nothing is written before the first removal.
    pub(super) fn for_directory(room: &Path) -> Self {
        Self { path: notes_path(room), notes: OnceLock::new(), next: AtomicU64::new(0) }
    }

    /// The file is there, or can't be.
    pub(super) fn is_open(&self) -> bool {
        self.notes.get().is_some()
    }

    /// The last name of this body is about to go. The first time as the daemon itself, which alone
    /// may make the file. Without notes a killed removal leaves its body for somebody to look at.
    pub(super) fn note_removal(&self, key: &CStr) -> RemovalSlot {
        self.notes.get_or_init(|| {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(CWD, &self.path, flags, Mode::RUSR | Mode::WUSR)
                .inspect_err(|error| tracing::debug!("removals are not noted: {error}"))
                .ok()
        });
        let slot = RemovalSlot(self.next.fetch_add(1, Relaxed) % SLOTS);
        self.write_slot(slot, key.to_bytes_with_nul());
        slot
    }

    /// The name stays.
    pub(super) fn forget_removal(&self, slot: RemovalSlot) {
        self.write_slot(slot, &[0]);
    }

    fn write_slot(&self, RemovalSlot(slot): RemovalSlot, bytes: &[u8]) {
        if let Some(Some(notes)) = self.notes.get() {
            // One that can't be written is as good as none.
            let _ = pwrite(notes, bytes, slot * SLOT_BYTES as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a file that somebody removed comes back, or one that nobody removed is gone.
    use super::*;

    #[test]
    fn what_is_noted_is_known_until_its_slot_is_used_again() {
        let here = tempfile::tempdir().expect("a directory");
        let room = here.path().join("room");
        assert!(noted_removals(&room).is_empty(), "no notes");
        let leaving = RemovalNotes::for_directory(&room);
        leaving.note_removal(c"2a.longer.sam");
        let stays = leaving.note_removal(c"2b.b.sam");
        leaving.forget_removal(stays);
        assert_eq!(noted_removals(&room), BTreeSet::from([c"2a.longer.sam".to_owned()]));
        for _ in 0..SLOTS - 2 {
            leaving.note_removal(c"2c.c");
        }
        leaving.note_removal(c"2d.d");
        assert_eq!(noted_removals(&room), BTreeSet::from([c"2c.c".to_owned(), c"2d.d".to_owned()]));
    }
}
