//! Where new objects go: to names that no object has. A writer that was replaced, and does not know,
//! writes over nothing then that the log of its successor needs: what it can do to objects that are
//! there comes after a segment of its own, which is the fence between both.

use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;

use super::super::scan::PendingFile;
use super::super::tree_record::ContentLocation;
use super::CommitUploader;
use super::moved_objects::unused_objects;
use super::object_renames::{MOVING, object_key};
use forebay_objstore::RequestError;

/// The name that the object of a file is to have.
pub(super) fn wanted_object_key(large: &PendingFile) -> String {
    object_key(large.ino, large.by.as_ref().unwrap_or(&large.path))
}

impl CommitUploader {
    /// Writes the object of a file by `send`, which is told its name and writes over nothing: its
    /// own name where that is free, else one that no writer has ever used, from which it gets its
    /// own when the log says so.
    pub(super) fn write_to_new_key<T>(
        &self,
        large: &PendingFile,
        mut send: impl FnMut(&str) -> Result<T, RequestError>,
    ) -> Result<(String, T), RequestError> {
        let own = wanted_object_key(large);
        let is_in_use = self.tree.file(large.ino).is_some_and(
            |file| matches!(&file.place, ContentLocation::Own { key, .. } if *key == own),
        );
        if !is_in_use {
            match send(&own) {
                Err(failed) if failed.kind == ErrorKind::AlreadyExists => {}
                sent => return Ok((own, sent?)),
            }
        }
        let count = self.fresh.fetch_add(1, Relaxed);
        let key = format!("{MOVING}/{:x}.{:x}.{count:x}", large.ino, self.session);
        match send(&key) {
            // It says nothing of who writes the log.
            Err(RequestError { kind: ErrorKind::AlreadyExists, why }) => {
                Err(RequestError { kind: ErrorKind::Other, why })
            }
            sent => Ok((key, sent?)),
        }
    }

    /// Gives objects that were written beside those of their files' names these names, once the log
    /// needs none of what has them now; nobody waits for that.
    ///
    /// # Errors
    /// As `upload_commit`; it goes on where it was when it is called again.
    pub(crate) fn settle_object_keys(&mut self) -> Result<(), RequestError> {
        debug_assert!(self.pending.is_none(), "a cut of which a part is written is ended first");
        let readers = &*self.readers;
        self.moves.settle_object_keys(&*self.bucket, &mut self.log, &mut self.tree, readers)?;
        self.delete_unused_objects();
        Ok(())
    }

    /// Removes objects that no file has any more; one that stays is found by a check.
    pub(super) fn delete_unused_objects(&mut self) {
        let lost = std::mem::take(&mut self.tree.unused);
        let unused = unused_objects(&self.tree, lost);
        // Names may be those of objects of who has taken over meanwhile.
        if unused.is_empty() || !self.log.is_at_end().unwrap_or(false) {
            return;
        }
        for key in unused {
            // A check finds what stays.
            let _ = self.bucket.delete_object(&key);
        }
    }
}
