//! Packed files, file by file, for their way home. There may be millions, so only some of them are
//! in memory with all that is to be known of them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::packed_dirs::{self, OpenedDirectory, why_not_found};
use super::{LeftBehindFile, WriteBackJob};
use crate::tiers::walk::WalkMode;
use forebay_packlog::{DirKey, Pack, PackedDir, PackedEntry};

/// Names that are looked at together.
const PART: usize = 4096;
/// Directories that are opened together.
const OPEN_AHEAD: usize = 64;

/// A name of a packed file.
pub(super) struct PackedFileName {
    pub(super) place: Arc<OpenedDirectory>,
    pub(super) name: CString,
    pub(super) found: PackedEntry,
}

impl PackedFileName {
    pub(super) fn path(&self) -> PathBuf {
        self.place.path.join(OsStr::from_bytes(self.name.to_bytes()))
    }
}

/// All packed files, each with its names.
pub(super) struct PackedFiles<'p> {
    pack: &'p Pack,
    dirs: Vec<PackedDir>,
    places: HashMap<DirKey, PathBuf>,
    /// Directories whose turn is next.
    opened: Vec<Arc<OpenedDirectory>>,
    ready: Vec<Vec<PackedFileName>>,
    /// Files with several names, which need not be in one directory: they come last.
    shared: BTreeMap<u64, Vec<(DirKey, CString, PackedEntry)>>,
}

impl<'p> PackedFiles<'p> {
    pub(super) fn for_pack(pack: &'p Pack, work: &WriteBackJob<'_>) -> PackedFiles<'p> {
        let mut dirs = pack.packed_directories();
        let places = packed_dirs::find_in_place(&work.root, &dirs, WalkMode::OpenUp);
        // The last of a list is taken first.
        dirs.reverse();
        dirs.iter_mut().for_each(|dir| dir.names.reverse());
        let (opened, ready) = (Vec::new(), Vec::new());
        PackedFiles { pack, dirs, places, opened, ready, shared: BTreeMap::new() }
    }

    /// The next file. Names in directories that are gone are told of as left.
    pub(super) fn next_file(&mut self, work: &mut WriteBackJob<'_>) -> Option<Vec<PackedFileName>> {
        while self.ready.is_empty() && !self.dirs.is_empty() {
            self.load_next_part(work);
        }
        if let Some(next) = self.ready.pop() {
            return Some(next);
        }
        while let Some((_, names)) = self.shared.pop_first() {
            let open = |(key, name, found): &(DirKey, CString, PackedEntry)| {
                let place = OpenedDirectory::open(&work.root, self.places.get(key)?, *key)?;
                Some(PackedFileName { place, name: name.clone(), found: *found })
            };
            match names.iter().map(open).collect::<Option<Vec<_>>>() {
                Some(names) => return Some(names),
                None => {
                    names.iter().for_each(|(key, name, _)| self.note_left_name(work, *key, name))
                }
            }
        }
        None
    }

    /// A directory that was there a moment ago can't be opened.
    fn note_left_name(&self, work: &mut WriteBackJob<'_>, key: DirKey, name: &CStr) {
        let Some(dir) = self.places.get(&key) else { return };
        let path = dir.join(OsStr::from_bytes(name.to_bytes()));
        let why = why_not_found(&work.root, dir.as_os_str().as_bytes()).to_owned();
        work.done.left.push(LeftBehindFile { path, why });
    }

    /// The directory of the part that is loaded. Far away, opening waits for an answer or two: those
    /// whose turn is next are opened with it.
    fn open_place(&mut self, root: &OwnedFd, key: DirKey) -> Option<Arc<OpenedDirectory>> {
        let first = (key, self.places.get(&key)?.as_path());
        let is_it = |dir: &&Arc<OpenedDirectory>| dir.key == key;
        if !self.opened.iter().any(|dir| is_it(&dir)) {
            let next = self.dirs.iter().rev().take(OPEN_AHEAD).map(|dir| dir.key);
            let place = |next| Some((next, self.places.get(&next)?.as_path()));
            let next = next.filter(|next| *next != key).filter_map(place);
            let all: Vec<_> = std::iter::once(first).chain(next).collect();
            self.opened = OpenedDirectory::open_all(root, &all);
        }
        self.opened.iter().find(is_it).map(Arc::clone)
    }

    fn load_next_part(&mut self, work: &mut WriteBackJob<'_>) {
        let Some(dir) = self.dirs.last_mut() else { return };
        let rest = dir.names.len().saturating_sub(PART);
        let names = dir.names.split_off(rest);
        let (key, path) = (dir.key, PathBuf::from(OsStr::from_bytes(&dir.path)));
        if rest == 0 {
            self.dirs.pop();
        }
        let Some(place) = self.open_place(&work.root, key) else {
            let why = why_not_found(&work.root, path.as_os_str().as_bytes());
            for name in names.into_iter().rev() {
                let path = path.join(OsStr::from_bytes(&name));
                work.done.left.push(LeftBehindFile { path, why: why.to_owned() });
            }
            return;
        };
        for name in names {
            let Some(found) = self.pack.lookup_name(key, &name) else { continue };
            let Ok(text) = CString::new(&*name) else { continue };
            if found.links > 1 {
                self.shared.entry(found.ino).or_default().push((key, text, found));
            } else {
                self.ready.push(vec![PackedFileName {
                    place: Arc::clone(&place),
                    name: text,
                    found,
                }]);
            }
        }
    }
}
