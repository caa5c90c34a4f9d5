//! The log is kept short. Checkpoints make what was before them needless, and that goes. What is left
//! of segments of which most is needless is written once more, with a cut that comes anyway: no
//! reader waits for that, and nobody who waits for a cut.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::super::scan::ScanResult;
use super::super::tree_record::{ContentLocation, TreeRecord};
use super::CommitUploader;
use forebay_objstore::RequestError;

/// Segments after which a checkpoint is worth its object: a reopening reads no more than these.
const BETWEEN_CHECKPOINTS: u64 = 64;
/// Bytes of files that are written once more with one cut.
const AT_ONCE: u64 = 4 << 20;
/// A segment is sparse when files have less than this part of its data, or of all of it: records
/// of a file are longer than the file may be.
const DATA: u64 = 2;
const ALL: u64 = 64;

/// How the log is kept short.
#[derive(Debug)]
pub(super) struct LogCompaction {
    /// Segments between two checkpoints.
    pub(super) between: u64,
    /// Segments of which most is needless.
    sparse: BTreeSet<u64>,
    /// Somebody waits for the next cut.
    pub(super) is_awaited: bool,
}

impl Default for LogCompaction {
    fn default() -> Self {
        LogCompaction { between: BETWEEN_CHECKPOINTS, sparse: BTreeSet::new(), is_awaited: false }
    }
}

impl CommitUploader {
    /// Says whether somebody waits for the cut that is shipped next.
    pub(crate) fn set_awaited(&mut self, is_awaited: bool) {
        self.short.is_awaited = is_awaited;
    }

    /// Writes a checkpoint where one is due, when nothing is pending; tells whether it did.
    pub(crate) fn checkpoint_if_due(&mut self) -> bool {
        debug_assert!(self.pending.is_none(), "the tree is what the log says");
        self.log.has_grown_by(self.short.between) && self.log.write_checkpoint(&self.tree).is_ok()
    }

    /// The same, and removes what nothing needs then.
    pub(crate) fn truncate_log(&mut self) {
        if !self.checkpoint_if_due() {
            return;
        }
        match self.remove_unneeded() {
            Ok(sparse) => self.short.sparse = sparse,
            // What stays is looked at after the next one.
            Err(failed) => tracing::warn!("making the log short: {failed}"),
        }
    }

    /// Removes what nothing needs, and tells the segments of which little is needed.
    fn remove_unneeded(&self) -> Result<BTreeSet<u64>, RequestError> {
        let mut live = FxHashMap::<u64, u64>::default();
        for (_, _, place) in self.packed_places() {
            if let ContentLocation::Packed { segment, length, .. } = place {
                *live.entry(*segment).or_default() += u64::from(*length);
            }
        }
        let left = self.log.remove_unneeded(|number| live.contains_key(&number))?;
        let mut sparse = BTreeSet::new();
        for (number, size) in left {
            let live = live[&number];
            if live * DATA < size
                && (live * ALL < size || live * DATA < self.fetch.segment_data_length(number)?)
            {
                sparse.insert(number);
            }
        }
        Ok(sparse)
    }

    /// Takes files of sparse segments into the segment that is written next, unless somebody waits
    /// for that. Bytes that can't be had stay where they are.
    pub(super) fn compact_segments(&mut self, found: &mut ScanResult) {
        if self.short.sparse.is_empty() || self.short.is_awaited {
            return;
        }
        let mut parts = BTreeMap::new();
        for (ino, is_sums, place) in self.packed_places() {
            if let ContentLocation::Packed { segment, at, .. } = place
                && self.short.sparse.contains(segment)
            {
                // In the order in which they lie there: they are asked for together.
                parts.insert((*segment, *at), (ino, is_sums, place.clone()));
            }
        }
        let mut room = AT_ONCE;
        let mut sparse = BTreeSet::new();
        for ((segment, _), (ino, is_sums, place)) in parts {
            if room == 0 {
                sparse.insert(segment);
                continue;
            }
            let bytes = match self.fetch.read_packed(&place) {
                Ok(bytes) => bytes,
                Err(failed) => {
                    tracing::warn!("making the log short: {failed}");
                    sparse.clear();
                    break;
                }
            };
            room = room.saturating_sub(bytes.len() as u64);
            let place = found.pack_bytes(ino, &bytes);
            let record = match is_sums {
                true => TreeRecord::Sums { ino, place },
                false => TreeRecord::Bytes { ino, place },
            };
            self.tree.apply_record(&record);
            found.draft.append_record(&record);
            found.laid.push(ino);
        }
        self.short.sparse = sparse;
    }

    /// Where bytes of files are, or checksums of objects (`true`), that are in segments.
    fn packed_places(&self) -> impl Iterator<Item = (u64, bool, &ContentLocation)> {
        self.tree.files().flat_map(|(ino, file)| {
            let sums = file.sums.as_deref().map(|sums| (ino, true, sums));
            let packed = matches!(file.place, ContentLocation::Packed { .. });
            packed.then_some((ino, false, &file.place)).into_iter().chain(sums)
        })
    }
}
