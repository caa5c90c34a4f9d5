//! The thread that brings what changes to the bucket.

mod waiting;

use std::sync::{Arc, Weak};
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::super::opening::Wanted;
use super::super::ship::{Dirty, Ship};
use super::super::state::Journal;
use super::Mirror;
use crate::native::{Identity, Native};
use crate::store::{Failed, Objects};

/// Pauses after a cut that the bucket did not take, in seconds.
const PAUSES: [u64; 5] = [1, 2, 4, 8, 15];
/// How often that is tried when nobody uses the volume any more: some minutes.
const LAST_TRIES: usize = 24;
/// How often a cut is made for who waits for one while files are written all the time.
const LOOKS: usize = 8;

/// What the thread has that ships.
pub(super) struct Worker {
    pub(super) mirror: Arc<Mirror>,
    pub(super) native: Weak<Native>,
    pub(super) ship: Ship,
    pub(super) journal: Journal,
    pub(super) wanted: Wanted,
    pub(super) bucket: Arc<Objects>,
    /// Files of which somebody waits until the bucket has them.
    pub(super) synced: FxHashSet<Identity>,
    /// How many waited for the last cut that somebody waited for.
    pub(super) callers: u64,
}

impl Worker {
    /// Works until nobody uses the volume any more.
    pub(super) fn work(&mut self) {
        // What changed while nobody looked.
        let mut dirty = None;
        let mut failures = 0;
        loop {
            let is_over = self.mirror.marks.noted().over;
            let done = self.turn(dirty.take());
            match done {
                Ok(()) => failures = 0,
                Err(failed) => {
                    log::error!("bringing files to {}: {failed}", self.wanted.url);
                    failures += 1;
                    let is_lost = failed.kind == std::io::ErrorKind::AlreadyExists;
                    if is_lost || is_over && (failed.is_lasting() || failures > LAST_TRIES) {
                        return self.end(Some(failed.why));
                    }
                    let pause = PAUSES[failures.min(PAUSES.len()) - 1];
                    self.pause(Duration::from_secs(pause));
                    continue;
                }
            }
            if is_over {
                return self.last();
            }
            dirty = Some(self.wait());
        }
    }

    /// Makes a cut of these names, or of everything, if none waits; and ships it.
    fn turn(&mut self, dirty: Option<Dirty>) -> Result<(), Failed> {
        let mut dirty = dirty;
        for _ in 0..LOOKS {
            let mut asked = self.mirror.marks.noted().done;
            if !self.ship.is_pending() {
                asked = self.cut(dirty.take())?;
            }
            let (files, bytes) = self.ship.waiting();
            {
                let mut progress = self.mirror.progress.lock();
                progress.files.1 = progress.files.0 + files;
                progress.bytes.1 = progress.bytes.0 + bytes;
            }
            let mirror = Arc::clone(&self.mirror);
            let shipped = self.ship.ship(&|path| mirror.open(path));
            self.mirror.bodies.moved(self.ship.moved());
            if let Some(shipped) = shipped? {
                let mut told = self.mirror.told.lock();
                told.shipped.0 += shipped.objects + 1;
                told.shipped.1 += bytes.max(shipped.bytes);
            }
            let learnt = self.ship.scan().learnt();
            let _ = self.journal.note(self.ship.next(), false, learnt);
            let again = self.ship.again();
            let is_done = again.is_empty();
            let mut noted = self.mirror.marks.noted();
            noted.dirty.extend(again);
            if is_done {
                self.synced.clear();
                noted.done = noted.done.max(asked);
            }
            let waits = noted.done < noted.asked;
            self.mirror.marks.call.notify_all();
            if !waits {
                break;
            }
            dirty = Some(std::mem::take(&mut noted.dirty));
        }
        Ok(())
    }

    /// Tells how many calls for a cut this one answers.
    fn cut(&mut self, dirty: Option<Dirty>) -> Result<u64, Failed> {
        self.gather();
        let native = self.native.upgrade();
        let mirror = Arc::clone(&self.mirror);
        let _quiet = mirror.marks.quiet();
        for (ino, stamp) in mirror.bodies.came() {
            self.ship.scan().is_as(ino, stamp);
        }
        let (asked, more) = {
            let mut noted = mirror.marks.noted();
            self.synced.extend(noted.synced.drain());
            self.ship.scan().were_written(noted.written.drain());
            (noted.asked, std::mem::take(&mut noted.dirty))
        };
        let synced = &self.synced;
        let is_busy = |identity: &Identity| {
            let is_written = native.as_ref().is_some_and(|native| native.is_written(identity));
            is_written && !synced.contains(identity)
        };
        let all = dirty.is_none();
        let mut names = dirty.unwrap_or_default();
        names.extend(more);
        let done = self.ship.cut((!all).then_some(&names), &is_busy);
        mirror.marks.noted().unread = self.ship.unread_files().collect();
        if let Err(error) = done {
            // Whatever it was: the names are looked at again.
            mirror.marks.noted().dirty.extend(names);
            return Err(std::io::Error::from(error).into());
        }
        Ok(asked)
    }

    /// Nobody uses it any more: all of it is looked at once more.
    fn last(&mut self) {
        let mut failures = 0;
        loop {
            match self.turn(None) {
                Ok(()) if self.mirror.marks.noted().dirty.is_empty() => {
                    return self.end(self.ship.unread());
                }
                Ok(()) => {}
                Err(failed) => {
                    failures += 1;
                    let is_lost = failed.kind == std::io::ErrorKind::AlreadyExists;
                    if is_lost || failed.is_lasting() || failures > LAST_TRIES {
                        return self.end(Some(failed.why));
                    }
                    std::thread::sleep(Duration::from_secs(PAUSES[failures.min(PAUSES.len()) - 1]));
                }
            }
        }
    }
}
