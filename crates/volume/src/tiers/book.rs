//! The book of a volume: `.forebay/volume.json` in a covered directory says on which tiers files of
//! it may lie, so that a later run, or `forebay restore`, finds them. One process tree at a time
//! uses it: whoever has it open holds a lock on the folder. It says nothing of single files: links
//! and bodies do.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_model::{Tier, TierId};
use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock};

use super::folder::{LOCK, Locked, check_mine, fresh_name, lock, make, make_own};
use super::opening::directory as tier_directory;
use super::{OWN, Purpose, Trouble, deed, pages};

const NAME: &str = "volume.json";
/// A run that was killed a moment ago takes a moment to be gone.
const PATIENCE: Duration = Duration::from_secs(1);

/// One room, as the book has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) tier: TierId,
    pub(super) path: PathBuf,
}

/// The book of one covered directory.
#[derive(Debug)]
pub(super) struct Book {
    own: PathBuf,
    entries: Mutex<Vec<Entry>>,
    /// Held as long as the book is open; processes that inherit it hold it too.
    lock: OwnedFd,
}

/// What came of opening a book.
pub(super) enum Opened {
    /// Here it is.
    Book(Book),
    /// There is none.
    None,
    /// Another run has it.
    Busy,
    /// It is not this user's, who must not trust it.
    Foreign,
}

impl Book {
    /// Opens the book in `directory`; makes one for a run that places files.
    ///
    /// # Errors
    /// A book that can't be read, or is of a newer format.
    pub(super) fn open(directory: &Path, purpose: Purpose<'_>) -> Result<Opened, Trouble> {
        let needed = matches!(purpose, Purpose::Place(_));
        let own = directory.join(OWN);
        let file = own.join(NAME);
        if !needed && fs::symlink_metadata(&file).is_err() {
            return Ok(Opened::None);
        }
        if needed {
            make_own(&own).map_err(Trouble::at(&own, "making"))?;
        }
        let patience = if matches!(purpose, Purpose::Show) { Duration::ZERO } else { PATIENCE };
        let lock = match lock(&own, patience).map_err(Trouble::at(&own, "opening"))? {
            Locked::Mine(lock) => lock,
            Locked::Busy => return Ok(Opened::Busy),
            Locked::Foreign => return Ok(Opened::Foreign),
        };
        let entries = match fs::read(&file) {
            Ok(text) => pages::parse(&text).map_err(Trouble::at(&file, "reading"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Trouble::at(&file, "reading")(error)),
        };
        Ok(Opened::Book(Book { own, entries: Mutex::new(entries), lock }))
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }

    /// Finds the room of a tier, or makes one, and tells its entry. Where a room that the book
    /// names is gone, another is made: old links must never lead to new files.
    ///
    /// # Errors
    /// The tier's directory is missing or closed, lies below the covered directory, or holds
    /// somebody else's `forebay-UID`.
    pub(super) fn add(&self, directory: &Path, tier: &Tier) -> Result<Entry, Trouble> {
        let path = tier_directory(tier)?;
        let base = path.canonicalize().map_err(Trouble::at(path, "finding tier"))?;
        if base.starts_with(directory) {
            let error = io::Error::other("it lies below the covered directory");
            return Err(Trouble::at(&base, "using tier")(error));
        }
        // Nobody else may look into this; a room lets those whom a root daemon acts as make files
        // of their own in it.
        let mine = base.join(format!("forebay-{}", rustix::process::geteuid().as_raw()));
        make(&mine, 0o700).map_err(Trouble::at(&mine, "making"))?;
        check_mine(&mine).map_err(Trouble::at(&mine, "using"))?;
        let mut entries = self.entries.lock();
        let known = entries.iter().find(|entry| {
            entry.tier == tier.id
                && entry.path.parent() == Some(&mine)
                && entry.path.is_dir()
                && deed::check(entry, directory).is_ok()
        });
        if let Some(entry) = known {
            return Ok(entry.clone());
        }
        // A room for each pool, which has a capacity of its own.
        let path = mine.join(format!("{}-{}", fresh_name(), tier.id));
        make(&path, 0o1733).map_err(Trouble::at(&path, "making"))?;
        deed::write(&path, directory).map_err(Trouble::at(&path, "writing the deed of"))?;
        let entry = Entry { tier: tier.id.clone(), path };
        entries.push(entry.clone());
        Ok(entry)
    }

    /// Writes the book, before the first file is placed.
    ///
    /// # Errors
    /// No room or no right in the covered directory.
    pub(super) fn save(&self) -> Result<(), Trouble> {
        let text = pages::text(self.entries());
        let (file, fresh) = (self.own.join(NAME), self.own.join("volume.json.new"));
        let write = || {
            let _ = fs::remove_file(&fresh);
            let mut out = File::create_new(&fresh)?;
            out.write_all(&text)?;
            out.sync_all()?;
            fs::rename(&fresh, &file)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&fresh);
            Trouble { path: file.clone(), step: "writing", error }
        })
    }

    /// Lets the next run have it, before whoever waits for this one hears that it is over.
    pub(super) fn unlock(&self) {
        // The lock ends with its descriptor at the latest.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }

    /// Where the list of files on their way home is kept.
    pub(super) fn arrivals(&self) -> PathBuf {
        self.own.join(super::arrivals::LIST)
    }

    /// Takes away what is empty: rooms, and the book when none is left. A room that is not there
    /// counts as empty only if no link leads to it (`all_home`): its tier may not be mounted.
    pub(super) fn close_rooms(&self, all_home: bool) {
        let packs = |entry: &Entry| super::packing::folder(&entry.path).exists();
        let volume = self.own.parent().unwrap_or(&self.own);
        let close = |entry: &Entry| match fs::remove_dir(&entry.path) {
            // Its tier has packed files still: a room is theirs, too.
            Ok(()) if packs(entry) => {
                // The next run makes it, too.
                let _ = make(&entry.path, 0o1733);
                true
            }
            Ok(()) => {
                let _ = fs::remove_file(deed::file(&entry.path));
                drop(entry.path.parent().map(fs::remove_dir));
                false
            }
            Err(error) => error.kind() != io::ErrorKind::NotFound || !all_home,
        };
        // What is another's is left as it is, in the book too.
        self.entries.lock().retain(|entry| deed::check(entry, volume).is_err() || close(entry));
        if !self.entries.lock().is_empty() {
            // The old one, with rooms that are gone, does no harm.
            let _ = self.save();
            return;
        }
        let _ = fs::remove_file(self.own.join(NAME));
        // Last, for the lock ends with its name.
        let _ = fs::remove_file(self.own.join(LOCK));
        let names = fs::read_dir(&self.own).into_iter().flatten().flatten();
        if names.map(|entry| entry.file_name()).eq([std::ffi::OsString::from(".gitignore")]) {
            let _ = fs::remove_file(self.own.join(".gitignore"));
            let _ = fs::remove_dir(&self.own);
        }
    }
}
