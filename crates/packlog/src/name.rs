//! Packed names, and what they have to do with files in place.

use super::record::DirKey;
use super::{Pack, PackedDir};

/// A packed name. There may be millions, and few have marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackedName {
    pub(super) ino: u64,
    pub(super) marks: Option<Box<InPlaceMarks>>,
}

/// What a packed name has to do with files in place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InPlaceMarks {
    /// This file in place had the name, and may still be there, hidden.
    pub(super) over: Option<DirKey>,
    /// Gone, if this file in place has the name now.
    pub(super) yields: Option<DirKey>,
    /// The same, in the life of the machine in which it was noted.
    pub(super) lands: Option<DirKey>,
}

impl Pack {
    /// The names that a file in place may have now, in their directories; with `hidden` those too
    /// that may have one behind them, but for what was made of them in this life.
    pub fn list_marked_names(&self, hidden: bool) -> Vec<PackedDir> {
        let state = self.state.lock();
        let may_be = |name: &PackedName| {
            let InPlaceMarks { over, yields, lands } = name.marks();
            let hides = hidden && over.is_some() && over != self.eager_copy(name.ino);
            hides || yields.is_some() || lands.is_some()
        };
        let marked = state.index.dirs.iter().filter_map(|dir| {
            let names = dir.names.iter().filter(|(_, name)| name.marks.is_some() && may_be(name));
            let names: Vec<_> = names.map(|(text, _)| text.clone()).collect();
            let (key, path) = (dir.key, dir.path.clone());
            (!names.is_empty()).then_some(PackedDir { key, path, names })
        });
        marked.collect()
    }
}

impl PackedName {
    pub(super) fn new(ino: u64, over: Option<DirKey>) -> PackedName {
        let marks =
            over.map(|over| Box::new(InPlaceMarks { over: Some(over), ..InPlaceMarks::default() }));
        PackedName { ino, marks }
    }

    pub(super) fn marks(&self) -> InPlaceMarks {
        self.marks.as_deref().copied().unwrap_or_default()
    }

    pub(super) fn marks_mut(&mut self) -> &mut InPlaceMarks {
        self.marks.get_or_insert_default()
    }
}
