//! What of a tree may differ from what is shown: names, and files as they were before.

use std::collections::{BTreeMap, BTreeSet};

use super::super::tree::{VolumeFile, VolumeTree};
use super::super::tree_record::{Attr, ContentLocation, Kind, TreeRecord};
use forebay_os::short_name::ShortName;

#[derive(Debug, Default)]
pub(super) struct TouchedEntries {
    /// Names that may lead elsewhere: the folder, and the name in it.
    pub(super) names: BTreeSet<(u64, ShortName)>,
    /// Files that may be otherwise, as they were; `None`: they are new.
    pub(super) files: BTreeMap<u64, Option<PreviousFile>>,
    /// Files that are no more.
    pub(super) ended: Vec<u64>,
    /// Some of it is shown already: of no file is it known which state of it is here.
    pub(super) is_torn: bool,
}

/// A file as it was, but for the names in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PreviousFile {
    kind: Kind,
    attr: Attr,
    place: ContentLocation,
    sums: Option<ContentLocation>,
    extended: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// In what a file differs from what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileDifference {
    /// It is another, or may be.
    Bytes,
    /// Its bytes are those, perhaps elsewhere.
    Rest { moved: bool, dressed: bool },
}

impl PreviousFile {
    pub(super) fn from_file(file: &VolumeFile) -> PreviousFile {
        PreviousFile {
            kind: file.kind.clone(),
            attr: file.attr,
            place: file.place.clone(),
            sums: file.sums.as_deref().cloned(),
            extended: file.extended.clone(),
        }
    }

    pub(super) fn compare_with(&self, file: &VolumeFile) -> FileDifference {
        let now = PreviousFile::from_file(file);
        let same = self.kind == now.kind && self.attr.mtime == now.attr.mtime;
        if !same || !self.has_bytes_of(&now) {
            return FileDifference::Bytes;
        }
        let moved = (&self.place, &self.sums) != (&now.place, &now.sums);
        let dressed = self.attr != now.attr || self.extended != now.extended;
        FileDifference::Rest { moved, dressed }
    }

    /// By their checksums: those of an object by the checksum of its checksums, since a copy of it
    /// has another name and version.
    fn has_bytes_of(&self, now: &PreviousFile) -> bool {
        let sum = |place: &ContentLocation| match place {
            ContentLocation::Packed { length, crc, .. } => Some((*length, *crc)),
            _ => None,
        };
        match (&self.place, &now.place) {
            (ContentLocation::Empty, ContentLocation::Empty) => true,
            (ContentLocation::Packed { .. }, ContentLocation::Packed { .. }) => {
                sum(&self.place) == sum(&now.place)
            }
            (
                ContentLocation::Own { size: was, version, .. },
                ContentLocation::Own { size: is, .. },
            ) => {
                let same = match (&self.sums, &now.sums) {
                    (Some(was), Some(is)) => sum(was) == sum(is),
                    _ => self.place == now.place && version.is_some(),
                };
                was == is && same
            }
            _ => false,
        }
    }
}

impl TouchedEntries {
    /// A record is about to change a tree.
    pub(super) fn note_record(&mut self, tree: &VolumeTree, record: &TreeRecord<'_>) {
        match record {
            TreeRecord::File { ino, .. }
            | TreeRecord::Bytes { ino, .. }
            | TreeRecord::Sums { ino, .. }
            | TreeRecord::Extended { ino, .. } => {
                self.files
                    .entry(*ino)
                    .or_insert_with(|| tree.file(*ino).map(PreviousFile::from_file));
            }
            TreeRecord::Name { folder, name, .. } | TreeRecord::Gone { folder, name } => {
                self.names.extend(ShortName::from_file_name(name).map(|name| (*folder, name)));
            }
            TreeRecord::Begin { .. } | TreeRecord::Cut => {}
        }
    }

    /// One tree takes the place of another.
    pub(super) fn note_differences(&mut self, before: &VolumeTree, now: &VolumeTree) {
        for (ino, file) in before.files() {
            let Some(after) = now.file(ino) else {
                self.ended.push(ino);
                continue;
            };
            let was = PreviousFile::from_file(file);
            if was != PreviousFile::from_file(after) {
                self.files.entry(ino).or_insert(Some(was));
            }
            let lost = file.names.iter().filter(|(name, to)| after.names.get(*name) != Some(*to));
            self.names.extend(lost.map(|(name, _)| (ino, name.clone())));
        }
        for (ino, file) in now.files() {
            let before = before.file(ino);
            if before.is_none() {
                self.files.entry(ino).or_insert(None);
            }
            let is_known = |(name, to): &(&ShortName, &u64)| {
                before.is_some_and(|before| before.names.get(*name) == Some(*to))
            };
            let new = file.names.iter().filter(|name| !is_known(name));
            self.names.extend(new.map(|(name, _)| (ino, name.clone())));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.files.is_empty() && self.ended.is_empty()
    }
}
