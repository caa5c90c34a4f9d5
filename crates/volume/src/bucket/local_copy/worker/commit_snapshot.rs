//! Making a cut of the local tree, while nobody changes a name.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::super::super::commit_upload::DirtyNames;
use super::UploadWorker;
use forebay_objstore::RequestError;
use forebay_os::file_identity::FileIdentity;

impl UploadWorker {
    /// Tells how many calls for a cut this one answers.
    pub(super) fn make_commit(&mut self, dirty: Option<DirtyNames>) -> Result<u64, RequestError> {
        self.wait_for_joiners();
        let server = self.server.upgrade();
        let mirror = Arc::clone(&self.mirror);
        let _quiet = mirror.marks.gate.block_changes();
        for (ino, stamp) in mirror.bodies.take_arrived() {
            self.ship.scan_mut().record_stamp(ino, stamp);
        }
        let is_over;
        let (asked, more) = {
            let mut noted = mirror.marks.lock_noted();
            self.synced.extend(noted.synced.drain());
            self.ship.scan_mut().mark_written(noted.written.drain());
            is_over = noted.over;
            noted.note_commit();
            (noted.asked, std::mem::take(&mut noted.dirty))
        };
        if let Some(server) = server.as_ref().filter(|_| is_over) {
            self.ship.scan_mut().mark_written(server.files_open_for_writing());
        }
        let synced = &self.synced;
        let is_busy = |identity: &FileIdentity| {
            let is_written =
                server.as_ref().is_some_and(|server| server.is_open_for_writing(identity));
            // The kernel need not tell the last closes when a mount goes.
            is_written && !is_over && !synced.contains(identity)
        };
        let all = dirty.is_none();
        let mut names = dirty.unwrap_or_default();
        names.extend(more);
        let done = self.ship.make_commit((!all).then_some(&names), &is_busy);
        mirror.next_segment.store(self.next_segment(), Relaxed);
        mirror.marks.lock_noted().unread = self.ship.unread_files().collect();
        if let Err(error) = done {
            // Whatever it was: the names are looked at again.
            let mut noted = mirror.marks.lock_noted();
            noted.dirty.extend(names);
            noted.note_change();
            return Err(std::io::Error::from(error).into());
        }
        Ok(asked)
    }

    /// The first segment that can have what is changed from now on: none of a cut that is on its
    /// way, of which it is known that it takes one.
    pub(super) fn next_segment(&self) -> u64 {
        self.ship.next_segment() + u64::from(self.ship.is_pending())
    }
}
