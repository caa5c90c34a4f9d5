//! Objects whose files have got another name. The name in the volume is another at once; the object
//! follows by a copy within the bucket, and the old one goes when the log no longer needs it.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::super::log::Log;
use super::super::record::{Place, Record};
use super::super::request::Bucket;
use super::super::segment::Draft;
use super::super::tree::{ROOT, Tree};
use crate::store::{Failed, key_of};

/// Where an object waits whose name another file takes.
const MOVING: &str = ".forebay/moving";

/// What is to follow, and what may go then.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// Files, with a path that each had when it was noted.
    wanted: BTreeMap<u64, Vec<u8>>,
    /// What was copied, and is not in the log yet.
    told: Vec<(u64, Place)>,
    doomed: BTreeSet<String>,
    /// What was copied, for those who read these files.
    pub(super) copied: Vec<(u64, Place)>,
}

impl Moves {
    /// These files and folders have got a name.
    pub(super) fn note(&mut self, tree: &Tree, moved: &[(u64, Vec<u8>)]) {
        for (ino, path) in moved {
            tree.own_below(*ino, path, &mut |ino, path, key| {
                if key_of(path).as_deref() != Some(key) {
                    self.wanted.insert(ino, path.to_vec());
                }
            });
        }
    }

    /// These names are about to be taken, each by this file: whoever else has an object of that
    /// name, and a name of its own left, has to follow that.
    pub(super) fn make_way<'k>(
        &mut self,
        tree: &Tree,
        taken: impl Iterator<Item = (u64, &'k str)>,
    ) {
        let holders = holders(tree);
        let others: BTreeSet<u64> = taken
            .filter_map(|(ino, key)| holders.get(key).copied().filter(|holder| *holder != ino))
            .collect();
        if others.is_empty() {
            return;
        }
        tree.own_below(ROOT, b"", &mut |ino, path, key| {
            if others.contains(&ino) && key_of(path).as_deref() != Some(key) {
                self.wanted.insert(ino, path.to_vec());
            }
        });
    }

    /// Copies objects to the names of their files, and says so in the log. Tells how many.
    ///
    /// # Errors
    /// Those of the bucket; what was copied is copied again then.
    pub(super) fn settle(
        &mut self,
        bucket: &dyn Bucket,
        log: &mut Log,
        tree: &mut Tree,
    ) -> Result<u64, Failed> {
        let Moves { wanted, told, doomed, copied: all } = self;
        if wanted.is_empty() {
            return Ok(0);
        }
        let mut holders = holders(tree);
        let mut put = |bucket: &dyn Bucket, tree: &mut Tree, ino: u64, to: String| {
            let Some(Place::Own { key, size, .. }) = tree.file(ino).map(|file| file.place.clone())
            else {
                return Ok(());
            };
            bucket.copy(&key, &to)?;
            let place = Place::Own { key: to, version: None, size };
            tree.apply(&Record::Bytes { ino, place: place.clone() });
            told.push((ino, place));
            doomed.insert(key);
            Ok::<_, Failed>(())
        };
        for (ino, path) in wanted.iter() {
            let Some(to) = key_of(path) else { continue };
            let Some(Place::Own { key, .. }) = tree.file(*ino).map(|file| &file.place) else {
                continue;
            };
            // It has another name since, or keeps one that its object has.
            if tree.at(path) != Some(*ino) || tree.at(key.as_bytes()) == Some(*ino) {
                continue;
            }
            if let Some(holder) = holders.remove(&to).filter(|holder| holder != ino) {
                put(bucket, tree, holder, format!("{MOVING}/{holder:x}"))?;
            }
            put(bucket, tree, *ino, to)?;
        }
        let copied = told.len() as u64;
        if !told.is_empty() {
            let mut draft = Draft::default();
            for (ino, place) in told.iter() {
                draft.add(&Record::Bytes { ino: *ino, place: place.clone() });
            }
            draft.add(&Record::Cut);
            log.write(draft.finish(log.next()).into())?;
        }
        all.append(told);
        wanted.clear();
        Ok(copied)
    }

    /// Objects that no file has any more, of these and of those that were copied.
    pub(super) fn unused(&mut self, tree: &Tree, more: Vec<String>) -> Vec<String> {
        let mut all = std::mem::take(&mut self.doomed);
        all.extend(more);
        if all.is_empty() {
            return Vec::new();
        }
        let holders = holders(tree);
        all.into_iter().filter(|key| !holders.contains_key(key)).collect()
    }
}

/// Whose object has which name.
fn holders(tree: &Tree) -> FxHashMap<String, u64> {
    let own = |(ino, file): (u64, &super::super::tree::File)| match &file.place {
        Place::Own { key, .. } => Some((key.clone(), ino)),
        _ => None,
    };
    tree.files().filter_map(own).collect()
}
