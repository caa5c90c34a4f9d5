//! What becomes of one file of a tree of which parts may be lost.

use super::super::super::placeholder_tree::SyncMark;
use super::super::super::scan::FileStamp;
use super::super::super::tree::VolumeFile;
use super::super::super::tree_record::Kind;
use super::Salvage;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The bucket has it, or nothing is lost with it.
    Drop,
    /// It is for people to look at.
    Keep,
    /// It counts.
    Adopt,
}

impl Salvage<'_> {
    /// Of a file of this name, of which `ino` is the number in the bucket if that is known.
    pub(super) fn decide_verdict(
        &self,
        path: &[u8],
        ino: Option<u64>,
        stamp: &FileStamp,
        synced: Option<&SyncMark>,
    ) -> Verdict {
        let is_newer =
            |known: &VolumeFile| synced.is_some_and(|synced| synced.is_newer_than(known));
        let unsure = match stamp.size() {
            // There are no bytes to keep.
            0 => Verdict::Drop,
            _ => Verdict::Keep,
        };
        if let Some(ino) = ino.filter(|ino| *ino < self.tree.next) {
            // Its name went in the bucket, and that came not to this machine's disk.
            let Some(known) = self.tree.file(ino) else { return Verdict::Drop };
            let is_later = stamp.mtime() > known.attr.mtime
                || self.known.is_newer_than_stored(ino, stamp).unwrap_or(false);
            return match self.known.is_stored_as(ino, stamp) || has_same_state(known, stamp) {
                _ if is_newer(known) => Verdict::Adopt,
                false if is_later => unsure,
                _ => Verdict::Drop,
            };
        }
        match self.tree.lookup_path(path).and_then(|ino| self.tree.file(ino)) {
            None if synced.is_some() => Verdict::Adopt,
            Some(known) if known.kind == Kind::Plain && is_newer(known) => Verdict::Adopt,
            // A part of what the bucket has, as far as it came to this machine's disk.
            Some(known)
                if known.attr.mtime == stamp.mtime() && stamp.size() <= known.place.size() =>
            {
                Verdict::Drop
            }
            _ => unsure,
        }
    }
}

/// Whether the bucket has a file as long and as old.
fn has_same_state(known: &VolumeFile, stamp: &FileStamp) -> bool {
    known.attr.mtime == stamp.mtime() && known.place.size() == stamp.size()
}
