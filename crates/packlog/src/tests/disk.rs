//! A disk in memory. Any write to it can be the last one of the process, whole, torn or not done,
//! and a power failure can take what was not made safe.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::ftruncate;
use rustix::io::Errno;

use super::super::disk::{AppendFile, LogStorage};
use super::super::working_files::WorkingFile;
use super::super::{Result, working_files};
use super::story::Dice;

/// What a kernel writes at once, or not.
const PAGE: usize = 4096;

/// How much of the last write is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Nothing,
    Half,
    All,
}

/// The end of the process: nothing runs after it, as after SIGKILL.
pub(super) struct Killed;

/// Counts writes, and kills at one of them.
#[derive(Debug, Default, Clone)]
pub(super) struct Doom(Arc<Mutex<Option<(usize, Last)>>>, Arc<Mutex<&'static str>>);

impl Doom {
    /// So many writes come through; of the next one, `last`.
    pub(super) fn after(&self, writes: usize, last: Last) {
        *self.0.lock() = Some((writes, last));
    }

    pub(super) fn never(&self) {
        *self.0.lock() = None;
    }

    /// What was written to when the end came.
    pub(super) fn fell_on(&self) -> &'static str {
        *self.1.lock()
    }

    /// One write to something; tells how much of it is done if it is the last.
    fn count(&self, to: &'static str) -> Option<Last> {
        let mut doom = self.0.lock();
        match &mut *doom {
            None => None,
            Some((0, last)) => {
                *self.1.lock() = to;
                let last = *last;
                *doom = None;
                Some(last)
            }
            Some((writes, _)) => {
                *writes -= 1;
                None
            }
        }
    }

    /// One write, which is done or not.
    fn one<T>(&self, to: &'static str, write: impl FnOnce() -> T) -> T {
        match self.count(to) {
            None => write(),
            Some(Last::All) => {
                write();
                die()
            }
            Some(Last::Nothing | Last::Half) => die(),
        }
    }

    /// Gives a working file new bytes, and tells `holds` how many it has after each step.
    pub(super) fn fill(
        &self,
        work: &WorkingFile,
        fill: &[u8],
        mut holds: impl FnMut(usize),
    ) -> Result<()> {
        let to = "working file";
        self.one(to, || ftruncate(&work.file, 0).inspect(|()| holds(0)))?;
        let half = fill.len() / 2;
        for end in [half, fill.len()] {
            self.one(to, || {
                working_files::write_content(work, &fill[..end]).inspect(|()| holds(end))
            })?;
        }
        Ok(())
    }
}

fn die() -> ! {
    // No panic: there is nobody to tell, and the hook that prints one is not called.
    std::panic::resume_unwind(Box::new(Killed))
}

#[derive(Debug, Default, Clone)]
pub(super) struct Memory {
    pub(super) image: Arc<Mutex<Image>>,
    doom: Doom,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Image {
    pub(super) bytes: Vec<u8>,
    /// What a power failure can't take.
    pub(super) safe: Vec<u8>,
    pub(super) full: bool,
    /// It is the next log.
    is_fresh: bool,
}

impl Image {
    fn write(&mut self, at: usize, bytes: &[u8]) {
        if self.bytes.len() < at + bytes.len() {
            self.bytes.resize(at + bytes.len(), 0);
        }
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn to(&self) -> &'static str {
        if self.is_fresh { "new log" } else { "log" }
    }

    /// The power fails: of each page that changed since the last sync, the old bytes or the new
    /// ones are left, in some cases all up to some byte and nothing behind it.
    fn fail(&mut self, dice: &mut Dice) {
        let (new, old) = (&self.bytes, &self.safe);
        let (short, long) = (new.len().min(old.len()), new.len().max(old.len()));
        let length = match dice.below(3) {
            0 => new.len(),
            _ => short + dice.below(long - short + 1),
        };
        let is_prefix = dice.below(2) == 0;
        let mut left = vec![0; length];
        for start in (0..length).step_by(PAGE) {
            let end = length.min(start + PAGE);
            let is_new = is_prefix || dice.below(2) == 0;
            let sources = if is_new { [old, new] } else { [old, old] };
            for source in sources {
                let upto = end.min(source.len()).max(start);
                left[start..upto].copy_from_slice(source.get(start..upto).unwrap_or(&[]));
            }
        }
        self.safe.clone_from(&left);
        self.bytes = left;
    }
}

impl AppendFile for Memory {
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        let mut image = self.image.lock();
        let at = at as usize;
        let last = self.doom.count(image.to());
        // A full disk takes what it can, and so does one that is killed.
        let most = match last {
            Some(Last::Nothing) => 0,
            Some(Last::Half) => bytes.len() / 2,
            _ if image.full => bytes.len() / 2,
            _ => bytes.len(),
        };
        if most > 0 {
            image.write(at, &bytes[..most]);
        }
        match last {
            Some(_) => die(),
            None if image.full => Err(Errno::NOSPC),
            None => Ok(()),
        }
    }
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<usize> {
        let image = self.image.lock();
        let from = image.bytes.get(at as usize..).unwrap_or(&[]);
        let count = from.len().min(buffer.len());
        buffer[..count].copy_from_slice(&from[..count]);
        Ok(count)
    }
    fn file_length(&self) -> Result<u64> {
        Ok(self.image.lock().bytes.len() as u64)
    }
    fn truncate_to(&self, length: u64) -> Result<()> {
        let mut image = self.image.lock();
        self.doom.one(image.to(), || image.bytes.truncate(length as usize));
        Ok(())
    }
    fn sync_data(&self) -> Result<()> {
        let mut image = self.image.lock();
        let to = image.to();
        self.doom.one(to, || {
            let image = &mut *image;
            image.safe.clone_from(&image.bytes);
        });
        Ok(())
    }
}

/// The log's place, and the next log's.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) log: Arc<Mutex<Memory>>,
    fresh: Arc<Mutex<Memory>>,
    /// The log that was replaced, as long as a power failure can bring it back.
    old: Arc<Mutex<Option<Memory>>>,
    pub(super) doom: Doom,
}

impl Place {
    /// A place for a log; the writes to it are counted.
    pub(super) fn doomed() -> Place {
        let doom = Doom::default();
        let log = Memory { doom: doom.clone(), ..Memory::default() };
        Place { log: Arc::new(Mutex::new(log)), doom, ..Place::default() }
    }

    pub(super) fn with(bytes: &[u8]) -> Place {
        let place = Place::default();
        place.log.lock().image.lock().bytes = bytes.to_vec();
        place
    }

    pub(super) fn image(&self) -> Image {
        self.log.lock().image.lock().clone()
    }

    pub(super) fn set_full(&self, full: bool) {
        self.log.lock().image.lock().full = full;
    }

    /// The power fails. Working files that are no bodies may hold anything after it, and may be
    /// gone.
    pub(super) fn fail(&self, works: &Path, dice: &mut Dice) {
        if let Some(old) = self.old.lock().take()
            && dice.below(2) == 0
        {
            *self.log.lock() = old;
        }
        self.log.lock().image.lock().fail(dice);
        for file in std::fs::read_dir(works).expect("listed").flatten() {
            let path = file.path();
            match dice.below(4) {
                0 => std::fs::remove_file(path),
                1 => std::fs::write(path, b""),
                2 => std::fs::write(path, vec![0xa5; dice.below(2 * PAGE)]),
                _ => Ok(()),
            }
            .expect("done to a working file");
        }
    }
}

impl LogStorage for Place {
    fn open_log(&self) -> Result<Arc<dyn AppendFile>> {
        Ok(Arc::new(self.log.lock().clone()))
    }
    fn create_new_log(&self) -> Result<Arc<dyn AppendFile>> {
        let fresh = Memory { doom: self.doom.clone(), ..Memory::default() };
        fresh.image.lock().is_fresh = true;
        self.doom.one("new log", || *self.fresh.lock() = fresh);
        Ok(Arc::new(self.fresh.lock().clone()))
    }
    fn replace_log(&self) -> Result<bool> {
        self.doom.one("new log", || {
            let fresh = self.fresh.lock().clone();
            fresh.image.lock().is_fresh = false;
            *self.old.lock() = Some(std::mem::replace(&mut *self.log.lock(), fresh));
        });
        self.sync_directory().map(|()| true)
    }
    fn sync_directory(&self) -> Result<()> {
        self.doom.one("new log", || *self.old.lock() = None);
        Ok(())
    }
    fn discard_new_log(&self) -> Result<()> {
        *self.fresh.lock() = Memory::default();
        Ok(())
    }
    fn remove_log(&self) -> Result<()> {
        Ok(())
    }
}
