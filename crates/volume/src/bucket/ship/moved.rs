//! Where bytes of files are now, for those who read them; and objects that no file has any more.

use std::collections::BTreeSet;

use super::super::record::Place;
use super::super::tree::Tree;
use super::moves::Moves;

/// A file whose bytes are elsewhere now, or the checksums of its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) ino: u64,
    pub(crate) place: Place,
    pub(crate) sums: Option<Place>,
}

impl Moves {
    /// Files that lie elsewhere now, for those who read them.
    pub(super) fn laid(&mut self, tree: &Tree, files: &[u64]) {
        let moved = |ino: &u64| {
            let file = tree.file(*ino)?;
            let (place, sums) = (file.place.clone(), file.sums.as_deref().cloned());
            Some(Moved { ino: *ino, place, sums })
        };
        self.copied.extend(files.iter().filter_map(moved));
    }
}

/// Those of the objects that no file has.
pub(super) fn unused(tree: &Tree, objects: Vec<String>) -> BTreeSet<String> {
    let mut unused: BTreeSet<_> = objects.into_iter().collect();
    if !unused.is_empty() {
        for (_, file) in tree.files() {
            if let Place::Own { key, .. } = &file.place {
                unused.remove(key);
            }
        }
    }
    unused
}
