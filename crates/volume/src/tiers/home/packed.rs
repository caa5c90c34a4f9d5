//! Bringing packed files home: each becomes a plain file in place, whole under its name or not there
//! at all, and leaves the pack when it is safe.

use std::collections::HashMap;
use std::ffi::{CString, OsStr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use forebay_model::After;
use rustix::fs::{Statx, syncfs};
use rustix::io::Errno;

use super::packed_dirs::Place;
use super::packed_file::make_all;
use super::packed_names::Files;
use super::{Left, Which, Work, verdict};
use crate::native::stat_of;
use crate::pack::{DirKey, Found, Pack};

/// Files that are made safe together.
const BATCH: usize = 2048;

/// A name of a packed file.
pub(super) struct Name {
    pub(super) place: Arc<Place>,
    pub(super) name: CString,
    pub(super) found: Found,
}

impl Name {
    pub(super) fn path(&self) -> PathBuf {
        self.place.path.join(OsStr::from_bytes(self.name.to_bytes()))
    }
}

impl Work<'_> {
    /// Brings all packed files home that are to come.
    pub(super) fn bring_packed(&mut self, which: Which) {
        let tiers = self.tiers;
        let Some(pack) = tiers.pack() else { return };
        let mut files = Files::of(pack, self);
        let mut batch = Vec::new();
        let mut touched: HashMap<DirKey, (Arc<Place>, Statx)> = HashMap::new();
        while let Some(names) = files.next(self) {
            self.tell();
            let Some(ino) = names.first().map(|name| name.found.ino) else { continue };
            let after = match which {
                Which::All => After::Restore,
                Which::Ruled { succeeded } => {
                    verdict::after_packed(tiers, ino, names.iter().map(Name::path), succeeded)
                }
            };
            let Some(first) = names.first() else { continue };
            let size = first.found.attr.size;
            match after {
                After::Keep => {
                    self.publish_packed(pack, &names, false);
                    self.done.kept.0 += 1;
                    self.done.kept.1 += size;
                }
                // Published is its only copy then; if that failed, it stays for the next run.
                After::Discard if !self.publish_packed(pack, &names, true) => {}
                After::Discard => {
                    leave_pack(pack, &names);
                    self.done.discarded.0 += 1;
                    self.done.discarded.1 += size;
                }
                After::Restore => {
                    for name in &names {
                        let place = &name.place;
                        if !touched.contains_key(&place.key)
                            && let Ok(stat) = stat_of(place.fd.as_fd(), c"")
                        {
                            touched.insert(place.key, (Arc::clone(place), stat));
                        }
                    }
                    match self.make_all(pack, &names) {
                        Ok(()) => batch.push(names),
                        Err(error) => self.leave_packed(first, error),
                    }
                    if batch.len() >= BATCH {
                        self.land_packed(pack, &mut batch);
                    }
                }
            }
        }
        self.land_packed(pack, &mut batch);
        // A directory is as old as its files say, not as their coming home.
        touched.values().for_each(|(place, stat)| place.set_times(stat));
    }

    /// Makes the file under all its names, in directories that may be closed to writers.
    fn make_all(&mut self, pack: &Pack, names: &[Name]) -> Result<(), String> {
        let word = |error: Errno| match error {
            Errno::EXIST => "another file has its name in place".to_owned(),
            other => other.to_string(),
        };
        match make_all(pack, names) {
            Err(Errno::ACCESS) => {
                let opened: Vec<_> = names.iter().map(|name| name.place.open_up()).collect();
                let done = make_all(pack, names);
                drop(opened);
                done.map_err(word)
            }
            done => done.map_err(word),
        }
    }

    /// Makes a batch safe, then lets the pack forget it.
    fn land_packed(&mut self, pack: &Pack, batch: &mut Vec<Vec<Name>>) {
        let safe = batch.is_empty() || syncfs(&self.root).is_ok();
        for names in batch.drain(..) {
            let Some(first) = names.first() else { continue };
            if safe {
                self.done.brought.0 += 1;
                self.done.brought.1 += first.found.attr.size;
                leave_pack(pack, &names);
                self.tell();
            } else {
                self.leave_packed(first, "the file system in place could not make it safe");
            }
        }
    }

    fn leave_packed(&mut self, name: &Name, why: impl ToString) {
        self.done.left.push(Left { path: name.path(), why: why.to_string() });
    }
}

/// Removes a file from the pack.
pub(super) fn leave_pack(pack: &Pack, names: &[Name]) {
    for name in names {
        pack.leave(name.place.key, name.name.to_bytes());
        pack.forget(name.found.ino);
    }
}
