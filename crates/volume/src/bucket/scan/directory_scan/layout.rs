//! Whether a file lies in the bucket as the rule of its name says: as an object of its own, or with
//! others in a segment. Rules count for files that are brought there, or get another name; a volume
//! that is mounted with other rules stays as it is.

use super::super::super::tree_record::ContentLocation;
use super::super::scan_result::{FileStamp, LARGEST};
use super::{DirectoryScan, ScannedEntry};

impl DirectoryScan<'_> {
    /// Notes a name that says plain, of a file that has others.
    pub(super) fn note_plain(&mut self, one: &ScannedEntry<'_>) {
        if one.stat.stx_nlink > 1 && self.scan.rules.has_own_object(&one.path) {
            self.found.plain.insert(one.ino, one.path.clone());
        }
    }

    /// Whether a file of this path is to have an object of its own.
    pub(super) fn wants_object(&self, one: &ScannedEntry<'_>) -> bool {
        let rules = &self.scan.rules;
        one.stat.stx_size > LARGEST
            || rules.has_own_object(&one.path)
            || self.found.plain.contains_key(&one.ino)
            || one.stat.stx_nlink > 1
                && self.has_object_by_name(one.ino, |name| rules.has_own_object(name))
    }

    /// Whether a file has an object by another of its names, which says so: else it would be laid
    /// elsewhere by each of them in turn.
    fn has_object_by_name(&self, ino: u64, says: impl Fn(&[u8]) -> bool) -> bool {
        let Some(ContentLocation::Own { key, .. }) = self.tree.file(ino).map(|file| &file.place)
        else {
            return false;
        };
        self.tree.lookup_path(key.as_bytes()) == Some(ino) && says(key.as_bytes())
    }

    /// Whether nothing is to be done for a file whose bytes the bucket has: it has no other name
    /// than before, or lies as that one says.
    pub(super) fn is_layout_current(&self, one: &ScannedEntry<'_>) -> bool {
        // One of several names may have said otherwise.
        let is_unsettled = self.has_moved
            || self.found.plain.contains_key(&one.ino)
            || self.scan.stamps.get(&one.ino) == Some(&FileStamp::NEVER);
        let Some(file) = self.tree.file(one.ino).filter(|_| is_unsettled) else { return true };
        let is_object = matches!(file.place, ContentLocation::Own { .. });
        self.scan.rules.is_empty() || is_object == self.wants_object(one)
    }
}
