//! Opening the tiers of a directory: what for, and what can be in the way.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use forebay_model::{Reach, Rules, Site, Tier};
use parking_lot::Mutex;

use super::manifest::{Entry, Manifest, Opened};
use super::{Cache, OWN, TierDirectory, Tiers, deed};
use forebay_objstore::Settings;

/// What the tiers of a directory are opened for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// A run that places files.
    Place(&'a Wanted),
    /// A run without rules: what was placed before is shown as it should be.
    Show,
    /// `forebay restore`; the folders may have a spare of the book.
    Restore(&'a [PathBuf]),
    /// `forebay check --repair`: a damaged log of packed files is written anew.
    Repair(&'a [PathBuf]),
}

impl Purpose<'_> {
    /// Folders with spares of books. What only shows takes none for the book.
    pub(super) fn spares(&self) -> &[PathBuf] {
        match self {
            Purpose::Place(wanted) => &wanted.spares,
            Purpose::Restore(spares) | Purpose::Repair(spares) => spares,
            Purpose::Show => &[],
        }
    }
}

/// What a site and rules ask for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The tiers there are.
    pub site: Site,
    /// Which file goes where.
    pub rules: Rules,
    /// How buckets are reached.
    pub settings: Settings,
    /// Folders for spares of books, in state directories; the first is written to.
    pub spares: Vec<PathBuf>,
}

impl Wanted {
    /// Whether tasks on other machines would miss files: their bytes are on a disk of this one, or
    /// their names in a log.
    pub fn binds_to_this_machine(&self) -> bool {
        let mut homes = self.rules.tiers().into_iter().filter_map(|id| self.site.tier(id));
        self.rules.pack().is_some() || homes.any(|tier| tier.reach == Reach::Node)
    }
}

/// Why the tiers of a directory can't be used.
#[derive(Debug, thiserror::Error)]
#[error("{step} {}: {error}", path.display())]
pub struct TierError {
    /// The file or directory that it is about.
    pub path: PathBuf,
    /// What was tried.
    pub step: &'static str,
    /// The system's word.
    pub error: io::Error,
}

impl TierError {
    pub(super) fn at(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> TierError {
        move |error| TierError { path: path.to_owned(), step, error }
    }
}

/// Whether files can live where rules send them, as far as the site file tells.
///
/// # Errors
/// A tier that rules name is a bucket, or has no path.
pub fn check_paths(site: &Site, rules: &Rules) -> Result<(), TierError> {
    tiers_named(site, rules).into_iter().try_for_each(|tier| directory(tier).map(drop))
}

/// The tiers that a run with these rules opens.
fn tiers_named<'s>(site: &'s Site, rules: &Rules) -> Vec<&'s Tier> {
    let named: BTreeSet<_> = rules.tiers().into_iter().chain(rules.caches()).collect();
    named.into_iter().filter_map(|id| site.tier(id)).collect()
}

/// The directory of a tier, as the site file says.
pub(super) fn directory(tier: &Tier) -> Result<&Path, TierError> {
    let why = match tier.bucket {
        None => "its site file gives no path for it: it can be planned with, not run on",
        Some(_) => "it is a bucket: files can be published to it, and can't live in it",
    };
    let at = || Path::new("tier").join(tier.whole().as_str());
    tier.path.as_deref().ok_or_else(|| TierError::at(&at(), "using")(io::Error::other(why)))
}

impl TierError {
    /// There is no room for what was tried.
    pub(super) fn is_full(&self) -> bool {
        matches!(self.error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

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
            Opened::Manifest(book) => book,
            Opened::None => return Ok(None),
            Opened::Busy | Opened::Foreign if show => return Ok(None),
            Opened::Busy => return refuse("another run has files of this directory on tiers"),
            Opened::Foreign => return refuse("it belongs to another user"),
        };
        Tiers::furnish(directory, purpose, book).map(Some)
    }

    fn furnish(directory: &Path, purpose: Purpose<'_>, book: Manifest) -> Result<Tiers, TierError> {
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
            cache: Cache::default(),
            publish_dirs: Vec::new(),
            makers: super::ruling::Makers::default(),
            syncing: Arc::default(),
            moved: Default::default(),
        };
        let done = tiers.open_rooms(directory, purpose);
        if done.is_err() {
            tiers.close();
        }
        done.map(|()| tiers)
    }

    fn open_rooms(&mut self, directory: &Path, purpose: Purpose<'_>) -> Result<(), TierError> {
        let mut current = Vec::new();
        if let Purpose::Place(wanted) = purpose {
            self.rules = Some(wanted.rules.clone());
            self.cache = Cache::of(&wanted.rules);
            for tier in tiers_named(&wanted.site, &wanted.rules) {
                match self.book.add(directory, tier) {
                    Ok(entry) => current.push((entry, tier)),
                    Err(trouble) if trouble.is_full() => self.note_full(&trouble),
                    Err(trouble) => return Err(trouble),
                }
            }
            self.publish_dirs = super::publish::open(directory, wanted)?;
            self.book.save()?;
        }
        for entry in self.book.entries() {
            if let Err(error) = deed::check(&entry, directory) {
                self.foreign.push((entry, error));
                continue;
            }
            // A tier may have moved since: files that it had are where they were.
            let tier = current.iter().find(|(now, _)| *now == entry).map(|(_, tier)| *tier);
            match TierDirectory::open(&entry, tier) {
                // The lock of a run that still lasts has gone with its book.
                Ok(room) if !room.take() && self.book.was_gone => {
                    let error = io::Error::other("another run has files of this directory there");
                    return Err(TierError::at(&entry.path, "using")(error));
                }
                Ok(room) => self.rooms.push(room),
                Err(error) if tier.is_none() && error.kind() == io::ErrorKind::NotFound => {
                    self.missing.push(entry);
                }
                Err(error) => return Err(TierError::at(&entry.path, "opening")(error)),
            }
        }
        let wanted = match purpose {
            Purpose::Place(wanted) => wanted.rules.pack(),
            _ => None,
        };
        self.open_pack(wanted, matches!(purpose, Purpose::Repair(_)))?;
        self.charge_pack();
        Ok(())
    }

    /// Directories that the book calls rooms and that are none of this volume's, in words: nothing in
    /// them is touched.
    pub fn foreign(&self) -> impl Iterator<Item = String> {
        self.foreign.iter().map(|(Entry { tier, path }, why)| {
            format!(
                "{} is named as a room of tier {tier} by .forebay/volume.json, and is none of this \
                 directory's ({why}): nothing in it is touched",
                path.display()
            )
        })
    }

    /// Tiers that had files and are not there now, in words.
    pub fn missing(&self) -> impl Iterator<Item = String> {
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
        self.missing().chain(self.foreign())
    }

    /// The book that somebody has removed, where only its spare told of tiers.
    pub fn lost_book(&self) -> Option<&Path> {
        self.book.was_gone.then(|| self.book.shown())
    }

    /// Where the covered directory is now.
    pub(crate) fn now_at(&self, then: &Path) -> PathBuf {
        forebay_os::whereabouts::now_at(self.book.root().as_fd(), then)
    }

    /// Nobody uses the volume any more: another run may.
    pub(crate) fn let_go(&self) {
        self.book.unlock();
    }

    /// Leaves nothing behind of a volume that was not used after all.
    pub(crate) fn close(&self) {
        self.end_cache();
        self.close_pack();
        self.book.close_rooms(false, &BTreeSet::new());
    }
}
