//! The book of a volume: `.forebay/volume.json` in a covered directory says on which tiers files of
//! it may lie, so that a later run, or `forebay restore`, finds them. One process tree at a time
//! uses it: whoever has it open holds a lock on the folder. It says nothing of single files: links
//! and bodies do.
//!
//! A program, or a person, may remove it (`git clean -fdx` does). While a run lasts it is written
//! again; afterwards its spare tells the same (`spare_manifest`). It is reached through the
//! directory's own descriptor: another directory may have its path meanwhile.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use forebay_model::{Tier, TierId};
use forebay_os::own_folder::create_own_folder;
use parking_lot::Mutex;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};

use super::manifest_format::{self, ManifestEntry};
use super::private_directories::{
    DirectoryLock, LOCK, check_owned_exclusively, fresh_name, lock_volume, make_directory,
};
use super::requested_tiers::tier_path;
use super::spare_manifest::SpareManifest;
use super::tier_directory::removal_notes;
use super::{OWN, Purpose, TierError, ownership_link};
use forebay_os::file_identity::proc_fd_path;

const NAME: &str = "volume.json";
/// A run that was killed a moment ago takes a moment to be gone.
const PATIENCE: Duration = Duration::from_secs(1);

/// The book of one covered directory.
#[derive(Debug)]
pub(super) struct Manifest {
    /// The covered directory.
    root: OwnedFd,
    /// The folder, by way of that.
    own: PathBuf,
    /// The book as people know it.
    shown: PathBuf,
    entries: Mutex<Vec<ManifestEntry>>,
    /// Held as long as the book is open; processes that inherit it hold it too.
    lock: Mutex<OwnedFd>,
    /// What says the same when the book is gone. The first is this run's own.
    spares: Vec<SpareManifest>,
    /// All that is known is from a spare.
    pub(super) was_gone: bool,
    /// How often in a row it was looked for in vain.
    missed: AtomicU32,
}

/// What came of opening a book.
pub(super) enum ManifestOpening {
    /// Here it is.
    Manifest(Manifest),
    /// There is none.
    None,
    /// Another run has it.
    Busy,
    /// It is not this user's, who must not trust it.
    Foreign,
}

impl Manifest {
    /// Opens the book in `directory`; makes one for a run that places files.
    ///
    /// # Errors
    /// A book that can't be read, or is of a newer format.
    pub(super) fn open(
        directory: &Path,
        purpose: Purpose<'_>,
    ) -> Result<ManifestOpening, TierError> {
        let needed = matches!(purpose, Purpose::Place(_));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, directory, flags, Mode::empty());
        let root =
            root.map_err(|error| TierError::with_context(directory, "opening")(error.into()))?;
        let through = proc_fd_path(root.as_fd());
        let own = Path::new(std::ffi::OsStr::from_bytes(through.to_bytes())).join(OWN);
        let (folder, file) = (directory.join(OWN), own.join(NAME));
        let shown = folder.join(NAME);
        let spares: Vec<SpareManifest> = purpose
            .spare_folders()
            .iter()
            .filter_map(|shelf| SpareManifest::for_directory(shelf, root.as_fd()))
            .collect();
        let is_there = fs::symlink_metadata(&file).is_ok();
        let known =
            (!is_there).then(|| spares.iter().find_map(|spare| spare.read_entries(directory)));
        let known = known.flatten();
        if !needed && !is_there && known.is_none() {
            return Ok(ManifestOpening::None);
        }
        if needed || known.is_some() {
            create_own_folder(&own).map_err(TierError::with_context(&folder, "making"))?;
        }
        let patience = if matches!(purpose, Purpose::Show) { Duration::ZERO } else { PATIENCE };
        let lock = match lock_volume(&own, patience)
            .map_err(TierError::with_context(&folder, "opening"))?
        {
            DirectoryLock::Mine(lock) => Mutex::new(lock),
            DirectoryLock::Busy => return Ok(ManifestOpening::Busy),
            DirectoryLock::Foreign => return Ok(ManifestOpening::Foreign),
        };
        let was_gone = known.is_some();
        let entries = match fs::read(&file) {
            Ok(text) => manifest_format::parse_manifest(&text)
                .map_err(TierError::with_context(&shown, "reading"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => known.unwrap_or_default(),
            Err(error) => return Err(TierError::with_context(&shown, "reading")(error)),
        };
        let (entries, missed) = (Mutex::new(entries), AtomicU32::new(0));
        Ok(ManifestOpening::Manifest(Manifest {
            root,
            own,
            shown,
            entries,
            lock,
            spares,
            was_gone,
            missed,
        }))
    }

    /// The covered directory, whatever its name is now.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// The book, for a message.
    pub(super) fn display_path(&self) -> &Path {
        &self.shown
    }

    pub(super) fn entries(&self) -> Vec<ManifestEntry> {
        self.entries.lock().clone()
    }

    /// Finds the room of a tier, or makes one, and tells its entry. Where a room that the book
    /// names is gone, another is made: old links must never lead to new files.
    ///
    /// # Errors
    /// The tier's directory is missing or closed, lies below the managed directory, or holds
    /// somebody else's `forebay-UID`.
    pub(super) fn add_tier_directory(
        &self,
        directory: &Path,
        tier: &Tier,
    ) -> Result<ManifestEntry, TierError> {
        let mine = make_tier_folder(directory, tier)?;
        let mut entries = self.entries.lock();
        let known = entries.iter().find(|entry| {
            entry.tier == tier.id
                && entry.folder.is_none()
                && entry.path.parent() == Some(&mine)
                && entry.path.is_dir()
                && ownership_link::check_ownership(entry, directory).is_ok()
        });
        if let Some(entry) = known {
            return Ok(entry.clone());
        }
        // A room for each pool, which has a capacity of its own.
        let entry = make_owned_directory(directory, tier, &mine, 0o1733)?;
        entries.push(entry.clone());
        Ok(entry)
    }

    /// Makes a directory on a tier that stands for a folder of the volume as a whole.
    ///
    /// # Errors
    /// As for the room of the tier.
    pub(super) fn add_whole_folder(
        &self,
        directory: &Path,
        tier: &Tier,
        folder: &Path,
    ) -> Result<ManifestEntry, TierError> {
        let mine = make_tier_folder(directory, tier)?;
        let made = make_owned_directory(directory, tier, &mine, 0o700)?;
        let entry = ManifestEntry { folder: Some(folder.to_owned()), ..made };
        self.entries.lock().push(entry.clone());
        Ok(entry)
    }

    /// Forgets a directory that stood for a folder, once nothing is in it.
    pub(super) fn remove_whole_folder(&self, entry: &ManifestEntry) {
        if fs::remove_dir(&entry.path).is_ok() {
            let _ = fs::remove_file(ownership_link::path_for(&entry.path));
            self.entries.lock().retain(|other| other != entry);
        }
    }

    /// Writes the book, before the first file is placed.
    ///
    /// # Errors
    /// No room or no right in the managed directory.
    pub(super) fn save(&self) -> Result<(), TierError> {
        let text = manifest_format::manifest_text(self.entries());
        if let Some(spare) = self.spares.first() {
            spare.write_entries(self.entries(), &self.shown);
        }
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
            TierError { path: self.shown.clone(), step: "writing", error }
        })
    }

    /// Writes the book again if somebody has removed it. `later`: only if it was gone the last time
    /// too, for who removes a directory with all that is in it must not find more there.
    pub(super) fn rewrite_if_removed(&self, later: bool) {
        let gone = fs::symlink_metadata(self.own.join(NAME))
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if !gone || self.entries.lock().is_empty() {
            return self.missed.store(0, Relaxed);
        }
        let before = self.missed.fetch_add(1, Relaxed);
        if later && before == 0 {
            return;
        }
        match self.recreate_file() {
            Ok(()) => tracing::error!(
                "{} was removed while files of the directory are on tiers: it is written again",
                self.shown.display()
            ),
            // Once: it is tried again and again.
            Err(error) if before < 2 => tracing::error!(
                "{} was removed while files of the directory are on tiers, and can't be written \
                 again: {error}",
                self.shown.display()
            ),
            Err(_) => {}
        }
    }

    fn recreate_file(&self) -> Result<(), TierError> {
        create_own_folder(&self.own)
            .map_err(TierError::with_context(&self.shown, "making the folder of"))?;
        let locked = lock_volume(&self.own, Duration::ZERO);
        match locked.map_err(TierError::with_context(&self.shown, "locking"))? {
            DirectoryLock::Mine(lock) => *self.lock.lock() = lock,
            // The lock that this run had went with the folder.
            DirectoryLock::Busy | DirectoryLock::Foreign => {
                let error = io::Error::other("another run has made it meanwhile");
                return Err(TierError::with_context(&self.shown, "locking")(error));
            }
        }
        self.save()
    }

    /// Lets the next run have it, before whoever waits for this one hears that it is over.
    pub(super) fn unlock(&self) {
        // The lock ends with its descriptor at the latest.
        let _ = flock(&*self.lock.lock(), FlockOperation::Unlock);
    }

    /// Where the list of files on their way home is kept.
    pub(super) fn arrivals_path(&self) -> PathBuf {
        self.own.join(super::arrivals::LIST)
    }

    /// Takes away what is empty: rooms, and the book when none is left. A room that is not there
    /// counts as empty only if no link leads to it (`all_home`): its tier may not be mounted. One
    /// stays that links lead to whose bodies are gone (`lost`): what they are is known by it alone.
    pub(super) fn close_tier_directories(&self, all_home: bool, lost: &BTreeSet<PathBuf>) {
        let packs = |entry: &ManifestEntry| super::packing::pack_directory(&entry.path).exists();
        let volume = self.own.parent().unwrap_or(&self.own);
        let folders: Vec<TierId> = self
            .entries()
            .into_iter()
            .filter(|entry| entry.folder.is_some() && entry.path.exists())
            .map(|entry| entry.tier)
            .collect();
        // Its tier has packed files still, or whole folders: a room is for theirs, too.
        let is_needed = |entry: &ManifestEntry| {
            packs(entry) || entry.folder.is_none() && folders.contains(&entry.tier)
        };
        let close = |entry: &ManifestEntry| match fs::remove_dir(&entry.path) {
            Ok(()) if is_needed(entry) || lost.contains(&entry.path) => {
                // The next run makes it, too.
                let _ = make_directory(&entry.path, 0o1733);
                true
            }
            Ok(()) => {
                let _ = fs::remove_file(ownership_link::path_for(&entry.path));
                let _ = fs::remove_file(removal_notes::notes_path(&entry.path));
                drop(entry.path.parent().map(fs::remove_dir));
                false
            }
            Err(error) => error.kind() != io::ErrorKind::NotFound || !all_home,
        };
        // What is another's is left as it is, in the book too.
        self.entries.lock().retain(|entry| {
            ownership_link::check_ownership(entry, volume).is_err() || close(entry)
        });
        if !self.entries.lock().is_empty() {
            // The old one, with rooms that are gone, does no harm.
            let _ = self.save();
            return;
        }
        let _ = fs::remove_file(self.own.join(NAME));
        self.spares.iter().for_each(SpareManifest::remove);
        // Last, for the lock ends with its name.
        let _ = fs::remove_file(self.own.join(LOCK));
        let names = fs::read_dir(&self.own).into_iter().flatten().flatten();
        if names.map(|entry| entry.file_name()).eq([std::ffi::OsString::from(".gitignore")]) {
            let _ = fs::remove_file(self.own.join(".gitignore"));
            let _ = fs::remove_dir(&self.own);
        }
    }
}

/// The folder of this user on a tier. Nobody else may look into it; a room lets those whom a root
/// daemon acts as make files of their own in it.
fn make_tier_folder(directory: &Path, tier: &Tier) -> Result<PathBuf, TierError> {
    let path = tier_path(tier)?;
    let base = path.canonicalize().map_err(TierError::with_context(path, "finding tier"))?;
    if base.starts_with(directory) {
        let error = io::Error::other("it lies below the managed directory");
        return Err(TierError::with_context(&base, "using tier")(error));
    }
    let mine = base.join(format!("forebay-{}", rustix::process::geteuid().as_raw()));
    make_directory(&mine, 0o700).map_err(TierError::with_context(&mine, "making"))?;
    check_owned_exclusively(&mine).map_err(TierError::with_context(&mine, "using"))?;
    Ok(mine)
}

/// A directory there that is of this volume, with its deed.
fn make_owned_directory(
    directory: &Path,
    tier: &Tier,
    mine: &Path,
    mode: u32,
) -> Result<ManifestEntry, TierError> {
    let path = mine.join(format!("{}-{}", fresh_name(), tier.id));
    make_directory(&path, mode).map_err(TierError::with_context(&path, "making"))?;
    ownership_link::write_link(&path, directory)
        .map_err(TierError::with_context(&path, "writing the deed of"))?;
    Ok(ManifestEntry { tier: tier.id.clone(), path, folder: None })
}
