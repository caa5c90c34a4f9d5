//! Opening the tiers of a directory, and what can be in the way.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::manifest_format::ManifestEntry;
use super::requested_tiers::named_tiers;
use super::volume_manifest::{Manifest, ManifestOpening};
use super::{CopyCache, OWN, Purpose, TierDirectory, TierError, Tiers, ownership_link};

impl Tiers {
    /// Opens the rooms of the volume in `directory`, making those that are needed. `None` when
    /// there is nothing to show or to restore, or another run has the volume and this one only
    /// shows: links are links then.
    ///
    /// # Errors
    /// A tier that is not there or can't be written, a tier below the covered directory (its
    /// files would be reached through themselves), a volume that another run uses, a book of a
    /// newer format.
    pub fn open(directory: &Path, purpose: Purpose<'_>) -> Result<Option<Tiers>, TierError> {
        let refuse = |why: &str| {
            let error = io::Error::other(why.to_owned());
            Err(TierError { path: directory.join(OWN), step: "using", error })
        };
        let show = matches!(purpose, Purpose::Show);
        let book = match Manifest::open(directory, purpose)? {
            ManifestOpening::Manifest(book) => book,
            ManifestOpening::None => return Ok(None),
            ManifestOpening::Busy | ManifestOpening::Foreign if show => return Ok(None),
            ManifestOpening::Busy => {
                return refuse("another run has files of this directory on tiers");
            }
            ManifestOpening::Foreign => return refuse("it belongs to another user"),
        };
        Tiers::open_with_manifest(directory, purpose, book).map(Some)
    }

    fn open_with_manifest(
        directory: &Path,
        purpose: Purpose<'_>,
        book: Manifest,
    ) -> Result<Tiers, TierError> {
        let mut tiers = Tiers {
            rules: None,
            rooms: Vec::new(),
            missing: Vec::new(),
            foreign: Vec::new(),
            book,
            retired: Mutex::default(),
            packing: None,
            salvaged: None,
            pack_charged: AtomicU64::new(0),
            spilled: AtomicU64::new(0),
            why_spilled: OnceLock::new(),
            cache: CopyCache::default(),
            publish_dirs: Vec::new(),
            makers: super::placement_rules::CreatorTasks::default(),
            syncing: Arc::default(),
            moved: Default::default(),
        };
        let done = tiers.open_tier_directories(directory, purpose);
        if done.is_err() {
            tiers.close();
        }
        done.map(|()| tiers)
    }

    fn open_tier_directories(
        &mut self,
        directory: &Path,
        purpose: Purpose<'_>,
    ) -> Result<(), TierError> {
        let mut current = Vec::new();
        if let Purpose::Place(wanted) = purpose {
            self.rules = Some(wanted.rules.clone());
            self.cache = CopyCache::for_rules(&wanted.rules);
            for tier in named_tiers(&wanted.site, &wanted.rules) {
                match self.book.add_tier_directory(directory, tier) {
                    Ok(entry) => current.push((entry, tier)),
                    Err(trouble) if trouble.is_full() => self.note_full_tier(&trouble),
                    Err(trouble) => return Err(trouble),
                }
            }
            self.publish_dirs = super::publish::open_publish_targets(directory, wanted)?;
            self.book.save()?;
        }
        for entry in self.book.entries() {
            if let Err(error) = ownership_link::check_ownership(&entry, directory) {
                self.foreign.push((entry, error));
                continue;
            }
            if entry.folder.is_some() {
                if !entry.path.is_dir() {
                    self.missing.push(entry);
                }
                continue;
            }
            // A tier may have moved since: files that it had are where they were.
            let tier = current.iter().find(|(now, _)| *now == entry).map(|(_, tier)| *tier);
            match TierDirectory::open(&entry, tier) {
                // The lock of a run that still lasts has gone with its book.
                Ok(room) if !room.try_lock() && self.book.was_gone => {
                    let error = io::Error::other("another run has files of this directory there");
                    return Err(TierError::with_context(&entry.path, "using")(error));
                }
                Ok(room) => self.rooms.push(room),
                Err(error) if tier.is_none() && error.kind() == io::ErrorKind::NotFound => {
                    self.missing.push(entry);
                }
                Err(error) => return Err(TierError::with_context(&entry.path, "opening")(error)),
            }
        }
        let wanted = match purpose {
            Purpose::Place(wanted) => wanted.rules.packed_tier(),
            _ => None,
        };
        self.open_pack(wanted, matches!(purpose, Purpose::Repair(_)))?;
        self.charge_pack();
        Ok(())
    }

    /// Directories that the book calls rooms and that are none of this volume's, in words: nothing in
    /// them is touched.
    pub fn foreign_directories(&self) -> impl Iterator<Item = String> {
        self.foreign.iter().map(|(ManifestEntry { tier, path, .. }, why)| {
            format!(
                "{} is named as a room of tier {tier} by .forebay/volume.json, and is none of this \
                 directory's ({why}): nothing in it is touched",
                path.display()
            )
        })
    }

    /// Tiers that had files and are not there now, in words.
    pub fn missing_tiers(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|entry| {
            format!(
                "{}, where tier {} has files of this directory, is not there: their names lead \
                 nowhere until it is back",
                entry.path.display(),
                entry.tier
            )
        })
    }

    /// Both, for whoever only shows the volume.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.missing_tiers().chain(self.foreign_directories())
    }

    /// The book that somebody has removed, where only its spare told of tiers.
    pub fn removed_manifest(&self) -> Option<&Path> {
        self.book.was_gone.then(|| self.book.display_path())
    }

    /// Where the covered directory is now.
    pub(crate) fn current_path(&self, then: &Path) -> PathBuf {
        forebay_os::descriptor_path::current_path(self.book.root().as_fd(), then)
    }

    /// Nobody uses the volume any more: another run may.
    pub(crate) fn unlock_volume(&self) {
        self.book.unlock();
    }

    /// Leaves nothing behind of a volume that was not used after all.
    pub(crate) fn close(&self) {
        self.end_cache();
        self.close_pack();
        self.book.close_tier_directories(false, &BTreeSet::new());
    }
}
