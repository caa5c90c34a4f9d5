//! Packed files, file by file, for their way home. There may be millions, so only some of them are
//! in memory with all that is to be known of them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::packed::Name;
use super::packed_dirs::{self, Place};
use super::{Left, Work};
use crate::pack::{DirKey, Pack, PackedDir};

/// Names that are looked at together.
const PART: usize = 4096;

/// All packed files, each with its names.
pub(super) struct Files<'p> {
    pack: &'p Pack,
    dirs: Vec<PackedDir>,
    places: HashMap<DirKey, Arc<Place>>,
    ready: Vec<Vec<Name>>,
    /// Files with several names, which need not be in one directory: they come last.
    shared: BTreeMap<u64, Vec<Name>>,
}

impl<'p> Files<'p> {
    pub(super) fn of(pack: &'p Pack, work: &Work<'_>) -> Files<'p> {
        let mut dirs = pack.dirs();
        let places = packed_dirs::find(&work.root, &dirs);
        // The last of a list is taken first.
        dirs.reverse();
        dirs.iter_mut().for_each(|dir| dir.names.reverse());
        Files { pack, dirs, places, ready: Vec::new(), shared: BTreeMap::new() }
    }

    /// The next file. Names in directories that are gone are told of as left.
    pub(super) fn next(&mut self, work: &mut Work<'_>) -> Option<Vec<Name>> {
        while self.ready.is_empty() && !self.dirs.is_empty() {
            self.look(work);
        }
        let more = || self.shared.pop_first().map(|(_, names)| names);
        self.ready.pop().or_else(more)
    }

    fn look(&mut self, work: &mut Work<'_>) {
        let Some(dir) = self.dirs.last_mut() else { return };
        let rest = dir.names.len().saturating_sub(PART);
        let names = dir.names.split_off(rest);
        let (key, path) = (dir.key, PathBuf::from(OsStr::from_bytes(&dir.path)));
        if rest == 0 {
            self.dirs.pop();
        }
        let Some(place) = self.places.get(&key) else {
            for name in names.into_iter().rev() {
                let path = path.join(OsStr::from_bytes(&name));
                work.done.left.push(Left { path, why: "its directory is gone".to_owned() });
            }
            return;
        };
        for name in names {
            let Some(found) = self.pack.find(key, &name) else { continue };
            let Ok(text) = CString::new(&*name) else { continue };
            let name = Name { place: Arc::clone(place), name: text, found };
            if found.links > 1 {
                self.shared.entry(found.ino).or_default().push(name);
            } else {
                self.ready.push(vec![name]);
            }
        }
    }
}
