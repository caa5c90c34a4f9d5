//! Objects whose files have got another name. The name in the volume is another at once; the object
//! follows by a copy within the bucket, and the old one goes when the log no longer needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use rustc_hash::FxHashMap;

use super::super::log::Log;
use super::super::request::Bucket;
use super::super::segment::SegmentDraft;
use super::super::tree::{ROOT, VolumeTree};
use super::super::tree_record::{ContentLocation, TreeRecord};
use super::moved_objects::{MoveObserver, MovedContent};
use forebay_objstore::{RequestError, key_for_path};

/// Where an object is whose file's path can't be its name, or is another's for a moment more.
pub(super) const MOVING: &str = ".forebay/moving";
/// The longest object that S3 copies (Amazon S3 API reference, CopyObject). A longer one keeps its
/// name.
const LONGEST_COPY: u64 = 5 << 30;
/// The longest name of an object after the volume's prefix, in bytes: 1024 with that.
const LONGEST: usize = 768;

/// What is to follow.
#[derive(Debug, Default)]
pub(super) struct ObjectRenames {
    /// Files whose objects have no name of theirs any more, and the one that they are to get, where
    /// that matters.
    wanted: BTreeMap<u64, Option<String>>,
    /// What was copied, and is not in the log yet.
    told: Vec<MovedContent>,
    /// Tells names that are ours alone from those of other writers.
    session: u64,
}

/// The name for the object of a file.
pub(super) fn object_key(ino: u64, path: &[u8]) -> String {
    // A file that is called like something of ours is not that.
    let is_ours = path == b".forebay" || path.starts_with(b".forebay/");
    let key = key_for_path(path).filter(|key| !is_ours && key.len() <= LONGEST);
    key.unwrap_or_else(|| format!("{MOVING}/{ino:x}"))
}

impl ObjectRenames {
    /// All objects of a tree that was left while some were moving.
    pub(super) fn from_tree(tree: &VolumeTree, session: u64) -> ObjectRenames {
        let mut moves = ObjectRenames { session, ..ObjectRenames::default() };
        moves.note_misnamed_below(tree, ROOT);
        moves
    }

    /// A cut is made: files may have lost the names that their objects have, and may live on under
    /// others.
    pub(super) fn note_loose_files(&mut self, tree: &VolumeTree) {
        tree.loose().for_each(|ino| self.note_misnamed_below(tree, ino));
    }

    /// A file has got an object, which is to have this name if it could not have it at once.
    pub(super) fn note_stored(&mut self, tree: &VolumeTree, ino: u64, name: String) {
        let place = tree.file(ino).map(|file| &file.place);
        if matches!(place, Some(ContentLocation::Own { key, .. }) if *key != name) {
            self.wanted.insert(ino, Some(name));
        }
    }

    fn note_misnamed_below(&mut self, tree: &VolumeTree, ino: u64) {
        tree.for_each_object_below(ino, &mut |ino, _, key| {
            let path = key.as_bytes();
            // Where a name is spelt another way than the path, `settle_object_keys` looks closer.
            if tree.lookup_path(path) != Some(ino) || object_key(ino, path) != key {
                self.wanted.entry(ino).or_default();
            }
        });
    }

    /// Copies objects to names of their files, and says so in the log. Tells how many. No object is
    /// written over that is a living file's where the log ends.
    ///
    /// # Errors
    /// Those of the bucket; it goes on where it was when it is called again.
    pub(super) fn settle_object_keys(
        &mut self,
        bucket: &dyn Bucket,
        log: &mut Log,
        tree: &mut VolumeTree,
        readers: &dyn MoveObserver,
    ) -> Result<u64, RequestError> {
        let mut copied = self.log_copies(log, readers)?;
        if self.wanted.is_empty() {
            return Ok(copied);
        }
        let (mut left, mut holders) = self.plan_copies(tree);
        while !left.is_empty() {
            let is_free = |to: &str| !holders.contains_key(to);
            let free = left.iter().filter(|(_, to)| is_free(to));
            let mut turn: Vec<_> = free.map(|(ino, to)| (*ino, to.clone())).collect();
            if turn.is_empty() {
                // Each waits for another: one makes way.
                let one = left.values().find_map(|to| holders.get(to)).copied();
                turn.extend(one.map(|ino| (ino, format!("{MOVING}/{ino:x}.{:x}", self.session))));
            }
            for (ino, to) in turn {
                if let Some(ContentLocation::Own { key, .. }) =
                    tree.file(ino).map(|file| &file.place)
                {
                    holders.remove(key);
                }
                if left.get(&ino) == Some(&to) {
                    left.remove(&ino);
                }
                if self.copy_to_key(bucket, tree, ino, &to)? {
                    holders.insert(to, ino);
                }
            }
            copied += self.log_copies(log, readers)?;
        }
        self.wanted.clear();
        Ok(copied)
    }

    /// Which of the wanted have to go where, and whose object has which name.
    fn plan_copies(&self, tree: &VolumeTree) -> (BTreeMap<u64, String>, FxHashMap<String, u64>) {
        let (mut left, mut holders) = (BTreeMap::new(), FxHashMap::default());
        let mut settled = BTreeSet::new();
        tree.for_each_object_below(ROOT, &mut |ino, path, key| {
            holders.insert(key.to_owned(), ino);
            let Some(wanted) = self.wanted.get(&ino) else { return };
            let name = object_key(ino, path);
            if name == key {
                settled.insert(ino);
            } else if wanted.as_ref() == Some(&name) {
                left.insert(ino, name);
            } else {
                left.entry(ino).or_insert(name);
            }
        });
        let stays =
            |ino: &u64| tree.file(*ino).is_some_and(|file| file.place.size() > LONGEST_COPY);
        left.retain(|ino, to| {
            let is_taken = holders.get(to).is_some_and(stays);
            !settled.contains(ino) && !stays(ino) && !is_taken
        });
        (left, holders)
    }

    /// Tells whether there was something to copy.
    fn copy_to_key(
        &mut self,
        bucket: &dyn Bucket,
        tree: &mut VolumeTree,
        ino: u64,
        to: &str,
    ) -> Result<bool, RequestError> {
        let Some(file) = tree.file(ino) else { return Ok(false) };
        let ContentLocation::Own { key, size, .. } = file.place.clone() else { return Ok(false) };
        let sums = file.sums.as_deref().cloned();
        match bucket.copy_object(&key, to) {
            // Somebody has removed it. Who reads the file is told; all else goes on.
            Err(failed) if failed.kind == ErrorKind::NotFound => return Ok(false),
            done => done?,
        }
        let place = ContentLocation::Own { key: to.to_owned(), version: None, size };
        tree.apply_record(&TreeRecord::Bytes { ino, place: place.clone() });
        if let Some(place) = sums.clone() {
            tree.apply_record(&TreeRecord::Sums { ino, place });
        }
        self.told.push(MovedContent { ino, place, sums });
        Ok(true)
    }

    /// Puts into the log what was copied, and says it to those who read.
    fn log_copies(
        &mut self,
        log: &mut Log,
        readers: &dyn MoveObserver,
    ) -> Result<u64, RequestError> {
        if self.told.is_empty() {
            return Ok(0);
        }
        let mut draft = SegmentDraft::default();
        for MovedContent { ino, place, sums } in self.told.iter().cloned() {
            draft.append_record(&TreeRecord::Bytes { ino, place });
            if let Some(place) = sums {
                draft.append_record(&TreeRecord::Sums { ino, place });
            }
        }
        draft.append_record(&TreeRecord::Cut);
        log.write_segment(draft.encode_segment(log.next_segment()).into())?;
        let copied = self.told.len() as u64;
        readers.notify_moved(std::mem::take(&mut self.told));
        Ok(copied)
    }
}
