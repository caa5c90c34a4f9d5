//! A directory that stands for a volume in a bucket: what changes in it goes there in the
//! background, one cut after the other, and what is only there comes when it is read.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::Weak;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::bodies::Bodies;
use super::log::Log;
use super::marks::{Inside, Marks};
use super::opening::{Opened, Wanted};
use super::request::Bucket;
use super::ship::{Dirty, Ship};
use super::state::{Journal, State};
use super::writer::Writer;
use crate::native::{Identity, Native};
use crate::store::{Failed, Objects};
use crate::tiers::Underway;

/// How long names may differ from what the bucket knows before a cut is made.
const DELAY: Duration = Duration::from_secs(1);
/// Names after which it is not waited for.
pub(super) const MANY: usize = 4096;
/// Pauses after a cut that the bucket did not take, in seconds.
const PAUSES: [u64; 5] = [1, 2, 4, 8, 15];
/// How often that is tried when nobody uses the volume any more: some minutes.
const LAST_TRIES: usize = 24;
/// How often a cut is made for who waits for one while files are written all the time.
const LOOKS: usize = 8;

/// What became of a volume that was unmounted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Where the volume is.
    pub url: String,
    /// Segments and objects that were written, and their bytes.
    pub shipped: (u64, u64),
    /// Why not all of it is in the bucket.
    pub left: Option<String>,
    /// Where that is.
    pub kept: std::path::PathBuf,
}

/// A local tree and its bucket.
#[derive(Debug)]
pub(crate) struct Mirror {
    pub(crate) marks: Marks,
    pub(crate) bodies: Arc<Bodies>,
    root: OwnedFd,
    durable: bool,
    told: Mutex<Told>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    progress: Mutex<Underway>,
}

/// What the thread has that ships.
struct Worker {
    mirror: Arc<Mirror>,
    native: Weak<Native>,
    ship: Ship,
    state: State,
    journal: Journal,
    wanted: Wanted,
    bucket: Arc<Objects>,
    /// Files of which somebody waits until the bucket has them.
    synced: FxHashSet<Identity>,
}

impl Mirror {
    /// Begins to serve a volume for which `native` serves the local tree.
    ///
    /// # Errors
    /// When the bucket's client can't be made, or the directory is gone.
    pub(crate) fn start(
        opened: Opened,
        native: impl FnOnce(Arc<Mirror>) -> Native,
    ) -> std::io::Result<Arc<Native>> {
        let Opened { wanted, state, journal, next, tree, scan, away } = opened;
        let lost = |failed: Failed| std::io::Error::new(failed.kind, failed.why);
        let bucket = Objects::open(&wanted.url, wanted.settings.clone()).map_err(lost)?;
        let bucket = Arc::new(bucket);
        let requests = || Arc::clone(&bucket) as Arc<dyn Bucket>;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, state.tree(), flags, Mode::empty())?;
        let told = Told { url: wanted.url.clone(), kept: state.tree(), ..Told::default() };
        let mirror = Arc::new(Mirror {
            marks: Marks::default(),
            bodies: Arc::new(Bodies::new(requests(), away)),
            root,
            durable: wanted.durable,
            told: Mutex::new(told),
            thread: Mutex::new(None),
            progress: Mutex::default(),
        });
        let native = Arc::new(native(Arc::clone(&mirror)));
        let log = Log::resume(requests(), next, state.volume.me.clone());
        let volume = state.volume.me.clone();
        let ship = Ship::of(requests(), (log, tree), scan, volume);
        let mut worker = Worker {
            mirror: Arc::clone(&mirror),
            native: Arc::downgrade(&native),
            ship,
            state,
            journal,
            wanted,
            bucket,
            synced: FxHashSet::default(),
        };
        let work = move || worker.work();
        let thread = std::thread::Builder::new().name("forebay-ship".into()).spawn(work)?;
        *mirror.thread.lock() = Some(thread);
        Ok(native)
    }

    /// Held by who changes a name.
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.marks.enter()
    }

    /// Waits until the bucket has the bytes of a file and all that was done before, if it was
    /// mounted so.
    ///
    /// # Errors
    /// EIO: it will not have them.
    pub(crate) fn sync(&self, identity: Identity) -> Result<(), Errno> {
        if !self.durable {
            return Ok(());
        }
        let mut noted = self.marks.noted();
        noted.synced.insert(identity);
        noted.asked += 1;
        let mine = noted.asked;
        self.marks.call.notify_all();
        while noted.done < mine {
            if noted.lost.is_some() || noted.over {
                return Err(Errno::IO);
            }
            self.marks.call.wait(&mut noted);
        }
        Ok(())
    }

    /// Nobody uses the volume any more: waits until the bucket has all of it. Tells how far it is
    /// now and then.
    pub(crate) fn finish(&self, tell: &dyn Fn(&Underway)) -> Told {
        self.marks.noted().over = true;
        self.marks.call.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            while !thread.is_finished() {
                std::thread::sleep(Duration::from_millis(20));
                tell(&self.progress.lock());
            }
            if thread.join().is_err() {
                self.told.lock().left = Some("what brings files to the bucket is gone".to_owned());
            }
        }
        self.told.lock().clone()
    }

    /// Opens a file of the local tree to read.
    fn open(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).peekable();
        let mut folder = None;
        while let Some(part) = parts.next() {
            let kind = match parts.peek() {
                Some(_) => OFlags::DIRECTORY,
                None => OFlags::NONBLOCK,
            };
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
            let next = openat(folder.as_ref().unwrap_or(&self.root), part, how, Mode::empty())?;
            folder = Some(next);
        }
        folder.ok_or(Errno::ISDIR)
    }
}

impl Worker {
    fn work(&mut self) {
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
        let native = self.native.upgrade();
        let mirror = Arc::clone(&self.mirror);
        let _quiet = mirror.marks.quiet();
        for (ino, stamp) in mirror.bodies.came() {
            self.ship.scan().is_as(ino, stamp);
        }
        let (asked, more) = {
            let mut noted = mirror.marks.noted();
            self.synced.extend(noted.synced.drain());
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
        if let Err(error) = done {
            // Whatever it was: the names are looked at again.
            mirror.marks.noted().dirty.extend(names);
            return Err(std::io::Error::from(error).into());
        }
        Ok(asked)
    }

    /// Waits for something to do.
    fn wait(&self) -> Dirty {
        let marks = &self.mirror.marks;
        let mut noted = marks.noted();
        let is_called = |noted: &super::marks::Noted| noted.over || noted.asked > noted.done;
        while noted.dirty.is_empty() && !is_called(&noted) {
            marks.call.wait(&mut noted);
        }
        let mut left = 10;
        while !is_called(&noted) && noted.dirty.len() < MANY && left > 0 {
            marks.call.wait_for(&mut noted, DELAY / 10);
            left -= 1;
        }
        std::mem::take(&mut noted.dirty)
    }

    /// Waits for a while, but not for long when nobody uses the volume any more.
    fn pause(&self, time: Duration) {
        let mut noted = self.mirror.marks.noted();
        let was_over = noted.over;
        let mut left = time;
        while !left.is_zero() && noted.over == was_over {
            let step = left.min(Duration::from_millis(500));
            self.mirror.marks.call.wait_for(&mut noted, step);
            left = left.saturating_sub(step);
        }
    }

    /// Nobody uses it any more: all of it is looked at once more.
    fn last(&mut self) {
        let mut failures = 0;
        loop {
            match self.turn(None) {
                Ok(()) if self.mirror.marks.noted().dirty.is_empty() => return self.end(None),
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

    fn end(&mut self, why: Option<String>) {
        if why.is_none() {
            let learnt = self.ship.scan().learnt();
            let _ = self.journal.note(self.ship.next(), true, learnt);
            let _ = Writer::end(&self.state.volume.me, &self.bucket);
        }
        let mut noted = self.mirror.marks.noted();
        noted.lost.clone_from(&why);
        self.mirror.marks.call.notify_all();
        self.mirror.told.lock().left = why;
    }
}
