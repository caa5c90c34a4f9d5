//! Making a cut of the local tree, while nobody changes a name.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::super::super::ship::Dirty;
use super::Worker;
use forebay_objstore::Failed;
use forebay_os::files::FileIdentity;

impl Worker {
    /// Tells how many calls for a cut this one answers.
    pub(super) fn cut(&mut self, dirty: Option<Dirty>) -> Result<u64, Failed> {
        self.gather();
        let server = self.server.upgrade();
        let mirror = Arc::clone(&self.mirror);
        let _quiet = mirror.marks.gate.quiet();
        for (ino, stamp) in mirror.bodies.came() {
            self.ship.scan().is_as(ino, stamp);
        }
        let is_over;
        let (asked, more) = {
            let mut noted = mirror.marks.noted();
            self.synced.extend(noted.synced.drain());
            self.ship.scan().were_written(noted.written.drain());
            is_over = noted.over;
            noted.is_cut();
            (noted.asked, std::mem::take(&mut noted.dirty))
        };
        if let Some(server) = server.as_ref().filter(|_| is_over) {
            self.ship.scan().were_written(server.left_open());
        }
        let synced = &self.synced;
        let is_busy = |identity: &FileIdentity| {
            let is_written = server.as_ref().is_some_and(|server| server.is_written(identity));
            // The kernel need not tell the last closes when a mount goes.
            is_written && !is_over && !synced.contains(identity)
        };
        let all = dirty.is_none();
        let mut names = dirty.unwrap_or_default();
        names.extend(more);
        let done = self.ship.cut((!all).then_some(&names), &is_busy);
        mirror.next_segment.store(self.next_segment(), Relaxed);
        mirror.marks.noted().unread = self.ship.unread_files().collect();
        if let Err(error) = done {
            // Whatever it was: the names are looked at again.
            let mut noted = mirror.marks.noted();
            noted.dirty.extend(names);
            noted.changed();
            return Err(std::io::Error::from(error).into());
        }
        Ok(asked)
    }

    /// The first segment that can have what is changed from now on: none of a cut that is on its
    /// way, of which it is known that it takes one.
    pub(super) fn next_segment(&self) -> u64 {
        self.ship.next() + u64::from(self.ship.is_pending())
    }
}
