//! Files that were opened, by their inodes, and the names that they have: so that the record follows a
//! file to its last name.

use std::sync::Arc;

use forebay_model::{Fact, Micros, TreeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::names::{Place, join};
use crate::recorder::{RecordedFile, RecordedPath, Recorder};

/// A file by inode: a number that was given again has another generation.
pub(super) type FileKey = (TreeId, u64, u32);

/// One file that was opened.
#[derive(Debug)]
struct KnownFile {
    known: Arc<RecordedPath>,
    /// Its names that were met and not removed.
    names: Vec<Place>,
}

/// More removals of unknown files are not recorded, in one run: whoever clears away millions of files
/// has a record that is read in seconds all the same.
const UNKNOWN_REMOVALS_MAX: usize = 200_000;

/// All of them.
pub(super) struct KnownFiles {
    recorder: Arc<Recorder>,
    /// Names that were removed of files that were not opened, and that no file has got again.
    removed: FxHashSet<Place>,
    files: FxHashMap<FileKey, KnownFile>,
    by_name: FxHashMap<Place, FileKey>,
}

impl KnownFiles {
    pub(super) fn new(recorder: Arc<Recorder>) -> KnownFiles {
        KnownFiles {
            recorder,
            removed: FxHashSet::default(),
            files: FxHashMap::default(),
            by_name: FxHashMap::default(),
        }
    }

    /// What is known of a file now.
    pub(super) fn known(&self, key: FileKey) -> Option<&Arc<RecordedPath>> {
        self.files.get(&key).map(|file| &file.known)
    }

    /// The file behind an open, by its inode: under a name that is new to it it stays the same.
    pub(super) fn meet_open_file(&mut self, place: &Place, key: FileKey) -> Arc<RecordedPath> {
        if let Some(file) = self.files.get_mut(&key) {
            if self.by_name.get(place) != Some(&key) {
                file.names.push(place.clone());
                self.by_name.insert(place.clone(), key);
            }
            if file.known.path[..] != place.1 {
                // It is known by the name that was used last.
                file.known = described_anew(&self.recorder, file, place);
            }
            return Arc::clone(&file.known);
        }
        let known = Arc::new(self.recorder.describe_path(place.0, None, &place.1, None));
        self.files.insert(key, KnownFile { known: Arc::clone(&known), names: vec![place.clone()] });
        self.by_name.insert(place.clone(), key);
        // A file has its number from the first open: a rename does not change it.
        self.recorder.file_number(place.0, &known);
        known
    }

    /// A file that has this name has another one, too.
    pub(super) fn add_name(&mut self, first: &Place, place: Place) {
        self.give_name(&place);
        let Some(key) = self.by_name.get(first).copied() else { return };
        if let Some(file) = self.files.get_mut(&key) {
            file.names.push(place.clone());
            self.by_name.insert(place, key);
        }
    }

    /// A program removed a name. Of a file that nobody opened here the name is all that is known:
    /// another record, of who made it, may tell which file it was.
    pub(super) fn unlink(&mut self, place: &Place, at: Micros) {
        if self.by_name.contains_key(place) {
            return self.remove_name(place, at);
        }
        if self.removed.len() < UNKNOWN_REMOVALS_MAX || self.removed.contains(place) {
            self.removed.insert(place.clone());
            let (tree, path) = place.clone();
            self.recorder.record_fact(Fact::Removed { tree, path, at: Some(at) });
        }
    }

    /// A file got a name, and no open tells when: what was removed under it is another one's.
    fn give_name(&mut self, place: &Place) {
        if self.removed.remove(place) {
            let (tree, path) = place.clone();
            self.recorder.record_fact(Fact::Removed { tree, path, at: None });
        }
    }

    /// A name went; with its last one the file is gone.
    fn remove_name(&mut self, place: &Place, at: Micros) {
        let Some(key) = self.by_name.remove(place) else { return };
        let Some(file) = self.files.get_mut(&key) else { return };
        file.names.retain(|name| name != place);
        match file.names.last().cloned() {
            Some(other) if file.known.path[..] == place.1 => self.describe_anew(key, &other),
            Some(_) => {}
            None => {
                let gone = self.files.remove(&key);
                if let Some(id) = gone.and_then(|gone| gone.known.file()) {
                    self.recorder.record_fact(Fact::Gone { id, at });
                }
            }
        }
    }

    /// A file is known by another name now.
    fn describe_anew(&mut self, key: FileKey, place: &Place) {
        let Some(file) = self.files.get_mut(&key) else { return };
        file.known = described_anew(&self.recorder, file, place);
    }

    /// A file, or all below a directory, took a name; `exchange`: both have the other's now.
    pub(super) fn rename(
        &mut self,
        from: Option<Place>,
        to: Option<Place>,
        exchange: bool,
        at: Micros,
    ) {
        if let (true, Some(from), Some(to)) = (exchange, &from, &to) {
            let aside = (from.0, [&from.1[..], b"\0"].concat());
            self.move_names(from, &aside);
            self.move_names(to, from);
            self.move_names(&aside, to);
            return;
        }
        match (from, to) {
            (Some(from), Some(to)) => {
                self.give_name(&to);
                self.remove_name(&to, at);
                self.move_names(&from, &to);
            }
            // From elsewhere, or away.
            (None, Some(to)) => {
                self.give_name(&to);
                self.remove_name(&to, at);
            }
            (Some(from), None) => self.remove_name(&from, at),
            (None, None) => {}
        }
    }

    /// A file, or all below a directory, has another name.
    fn move_names(&mut self, from: &Place, to: &Place) {
        let moved: Vec<(Place, Place)> = match self.by_name.contains_key(from) {
            true => vec![(from.clone(), to.clone())],
            false => {
                let below = [&from.1[..], b"/"].concat();
                let names = self.by_name.keys().filter(|(tree, _)| *tree == from.0);
                names
                    .filter_map(|name| Some((name, name.1.strip_prefix(&below[..])?)))
                    .map(|(name, rest)| (name.clone(), (to.0, join(&to.1, rest))))
                    .collect()
            }
        };
        for (old, new) in moved {
            let Some(key) = self.by_name.remove(&old) else { continue };
            if let Some(file) = self.files.get_mut(&key) {
                file.names.retain(|name| *name != old);
                file.names.push(new.clone());
            }
            self.describe_anew(key, &new);
            self.by_name.insert(new, key);
        }
    }
}

/// A file under another name; its number stays.
fn described_anew(recorder: &Recorder, file: &KnownFile, place: &Place) -> Arc<RecordedPath> {
    let was = file.known.file().map(|file| RecordedFile { file, moved: true });
    Arc::new(recorder.describe_path(place.0, None, &place.1, was))
}
