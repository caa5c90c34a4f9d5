//! Files that become known while others are read, or give way to others; and which state of its
//! object one has where no listing told it.

use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use super::super::commit_upload::MovedContent;
use super::super::file_blocks::FileBlocks;
use super::{ContentLocation, EvictedFile, EvictedFiles, Result};
use forebay_objstore::RequestError;
use forebay_os::file_identity::FileIdentity;

/// Tells where bytes are that somebody else moves.
pub(in crate::bucket) trait ContentLocator: Send + Sync {
    /// Looks now; returns when that is done.
    fn refresh_now(&self);
    /// What a file is called, for people.
    fn display_path(&self, number: u64) -> Option<String>;
}

impl EvictedFiles {
    /// Somebody else moves bytes, as this one tells.
    pub(in crate::bucket) fn set_behind(&self, behind: Weak<dyn ContentLocator>) {
        let _ = self.behind.set(behind);
    }

    pub(super) fn behind(&self) -> Option<Arc<dyn ContentLocator>> {
        self.behind.get().and_then(Weak::upgrade)
    }

    /// Bytes lie elsewhere, and others have the places of some files: who has these open reads on
    /// as long as their bytes can be had.
    pub(in crate::bucket) fn apply_moves_and_retire(
        &self,
        moved: Vec<MovedContent>,
        retired: impl IntoIterator<Item = (FileIdentity, u64, String)>,
    ) {
        self.update_places(moved);
        let mut known = self.known.lock();
        known.came.clear();
        let before = std::mem::take(&mut known.retired);
        for (identity, number, name) in before {
            let is_open =
                known.bodies.get(&identity).is_some_and(|body| Arc::strong_count(body) > 1);
            if is_open {
                known.retired.push((identity, number, name));
                continue;
            }
            // The inode may be another file's.
            if known.numbers.get(&identity) == Some(&number) {
                known.numbers.remove(&identity);
                if known.bodies.remove(&identity).is_some() {
                    self.count.fetch_sub(1, Relaxed);
                }
            }
            known.away.remove(&number);
        }
        known.retired.extend(retired);
    }

    /// What a file was called that another has the place of.
    pub(super) fn retired_path(&self, number: u64) -> Option<String> {
        let known = self.known.lock();
        known.retired.iter().find(|(_, ino, _)| *ino == number).map(|(_, _, name)| name.clone())
    }

    /// More files whose bytes are away.
    pub(in crate::bucket) fn add_evicted_files(
        &self,
        more: impl IntoIterator<Item = (FileIdentity, u64, EvictedFile)>,
    ) {
        let mut known = self.known.lock();
        for (identity, ino, away) in more {
            known.numbers.insert(identity, ino);
            known.away.insert(ino, away);
        }
    }

    /// From now on bytes that came in an earlier run are not asked for again.
    pub(in crate::bucket) fn retain_partial_files(&self) {
        self.keeps_parts.store(true, Relaxed);
    }

    pub(super) fn restore_present_ranges(&self, body: &FileBlocks) {
        for range in body.present_ranges() {
            // With the last one it is whole, or is asked for by the next run as it was by this.
            let _ = body.settle_range(&range, true, || self.mark_present(body));
        }
    }

    /// Before a file is read: its bytes are to be those of one state of the object.
    ///
    /// # Errors
    /// ESTALE: it is another object already. EIO: nobody knows.
    pub(in crate::bucket) fn pin_version(&self, identity: &FileIdentity) -> Result<()> {
        let unknown = {
            let known = self.known.lock();
            let ino = known.numbers.get(identity).copied();
            ino.and_then(|ino| match known.away.get(&ino).map(|away| away.place.clone()) {
                Some(ContentLocation::Own { key, version: None, size }) => Some((ino, key, size)),
                _ => None,
            })
        };
        let Some((ino, key, size)) = unknown else { return Ok(()) };
        let failed = match self.bucket.head_object(&key) {
            Ok(Some(found)) if found.size == size => {
                let version = found.version.map(|version| version.0);
                if let Some(away) = self.known.lock().away.get_mut(&ino) {
                    away.place = ContentLocation::Own { key, version, size };
                }
                return Ok(());
            }
            Ok(Some(_)) => {
                let why = format!("{key}: it is another object now");
                RequestError { kind: ErrorKind::StaleNetworkFileHandle, why }
            }
            Ok(None) => {
                RequestError { kind: ErrorKind::NotFound, why: format!("{key} is not there") }
            }
            Err(failed) => failed,
        };
        Err(self.lost.note_failure(&key, &failed))
    }
}
