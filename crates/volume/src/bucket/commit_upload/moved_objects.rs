//! Where bytes of files are now, for those who read them; and objects that no file has any more.
//!
//! Whoever reads a file whose bytes are away knows their new place before the old one goes: else
//! they would ask for an object that is not there, for as long as it takes to remove a thousand.

use std::collections::BTreeSet;
use std::fmt::Debug;

use super::super::tree::VolumeTree;
use super::super::tree_record::ContentLocation;

/// A file whose bytes are elsewhere now, or the checksums of its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovedContent {
    pub(crate) ino: u64,
    pub(crate) place: ContentLocation,
    pub(crate) sums: Option<ContentLocation>,
}

/// Those who read files whose bytes are in the bucket alone.
pub(crate) trait MoveObserver: Debug + Send + Sync {
    /// The log says that these files lie elsewhere. Where they lay is there until this returns.
    fn notify_moved(&self, moved: Vec<MovedContent>);
}

/// Nobody reads.
#[derive(Debug)]
pub(super) struct NoObserver;

impl MoveObserver for NoObserver {
    fn notify_moved(&self, _moved: Vec<MovedContent>) {}
}

/// Where files lie now.
pub(super) fn current_places(tree: &VolumeTree, files: &[u64]) -> Vec<MovedContent> {
    let moved = |ino: &u64| {
        let file = tree.file(*ino)?;
        let (place, sums) = (file.place.clone(), file.sums.as_deref().cloned());
        Some(MovedContent { ino: *ino, place, sums })
    };
    files.iter().filter_map(moved).collect()
}

/// Those of the objects that no file has.
pub(super) fn unused_objects(tree: &VolumeTree, objects: Vec<String>) -> BTreeSet<String> {
    let mut unused: BTreeSet<_> = objects.into_iter().collect();
    if !unused.is_empty() {
        for (_, file) in tree.files() {
            if let ContentLocation::Own { key, .. } = &file.place {
                unused.remove(key);
            }
        }
    }
    unused
}
