//! Where files live that a rule sent to another tier. The *body* lies in a directory of the
//! volume's own on the tier (a *room*); in place there is a symbolic link that leads to it. So the
//! names stay where they were, a rename or a crash is the directory's own business, and whoever
//! looks from outside reads the right bytes. Inside, link and body are shown as one plain file
//! (`native::tiered_view`).
//!
//! It decides nothing: rules do. It knows no kernel and no numbers of nodes.

mod arrivals;
mod attributes;
mod beneath;
mod cache;
mod copy;
mod error;
mod left_behind_files;
mod lent_permissions;
mod manifest_format;
mod opening;
mod ownership_link;
mod packing;
mod placement_rules;
mod private_directories;
mod progress;
mod publish;
mod requested_tiers;
mod spare_manifest;
mod staged_migration;
mod staging_path;
mod syncing;
mod tier_directory;
mod tiered_file;
mod volume_lock_holder;
mod volume_manifest;
mod walk;
mod whole_folders;
mod workers;
mod write_back;

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use forebay_model::{FullTierPolicy, Placement, Rules, TreeId};
use parking_lot::Mutex;
use rustix::fs::{Statx, readlinkat};
use rustix::io::Errno;

pub use cache::CacheWarmReport;
use cache::CopyCache;
pub(crate) use cache::CopyLease;
pub use error::TierError;
use forebay_os::credentials::Credentials;
pub use left_behind_files::LeftBehindFile;
use manifest_format::ManifestEntry;
pub(crate) use placement_rules::{CreatorKey, PlacementDecision};
pub use progress::ProgressReporter;
pub use requested_tiers::{PlacementOptions, Purpose, check_tier_paths};
pub(crate) use staged_migration::{Goal, MigrationJob, StagedFile};
pub(crate) use staging_path::StagingPath;
pub(crate) use syncing::{SyncJob, SyncTarget};
pub(crate) use tier_directory::TierDirectory;
pub(crate) use tier_directory::removal_notes::RemovalSlot;
pub(crate) use tiered_file::{TieredFile, is_trusted_link, merged_attributes};
use volume_manifest::Manifest;
pub use whole_folders::FolderOnTier;
pub(crate) use write_back::restored_times::set_directory_times;
pub use write_back::{
    StrayLinks, TierCheckReport, TierFinding, WriteBackOutcome, WriteBackScope, check_volume,
    find_stray_links, write_back_files,
};
pub(crate) use write_back::{UnnamedFile, make_packed_file};

pub use forebay_os::own_folder::OWN;

/// How long a body that was replaced is kept: until the file system in place has surely committed
/// the replacement (ext4 and XFS within 30 s), so that a power failure leaves the old or the new.
const RETIRED_NANOS: u64 = 60_000_000_000;

/// The tiers of one covered directory.
#[derive(Debug)]
pub struct Tiers {
    /// `None`: nothing new is placed, what was placed before is shown as it should be.
    rules: Option<Rules>,
    rooms: Vec<TierDirectory>,
    /// Rooms that had files and are not there now.
    missing: Vec<ManifestEntry>,
    /// Directories that the book calls rooms, and why they are none of this volume's.
    foreign: Vec<(ManifestEntry, io::Error)>,
    book: Manifest,
    /// Bodies that were replaced, with the time (ns of the run) and their name now.
    retired: Mutex<Vec<(u64, usize, CString)>>,
    /// Files that rules pack together.
    packing: Option<packing::TierPack>,
    salvaged: Option<(std::path::PathBuf, u64)>,
    /// What of it counts against its tier's capacity, in bytes.
    pack_charged: AtomicU64,
    /// Files that stayed in place because their tier was full or refused.
    spilled: AtomicU64,
    why_spilled: OnceLock<String>,
    cache: CopyCache,
    /// Where rules publish files to when the run ends.
    publish_dirs: Vec<publish::PublishDestination>,
    /// Which task made a file, where a rule asks for it.
    makers: placement_rules::CreatorTasks,
    /// Syncs that nobody waits for.
    syncing: Arc<syncing::SyncQueue>,
    /// Files that were moved while the run went on, and their bytes.
    moved: (AtomicU64, AtomicU64),
}

impl Tiers {
    /// The directories on tiers.
    pub(crate) fn tier_directories(&self) -> &[TierDirectory] {
        &self.rooms
    }

    /// Gives the rooms their numbers in the record, from `first` on; tells how many there are.
    pub(crate) fn number_tier_directories(&mut self, first: u16) -> u16 {
        for (room, number) in self.rooms.iter_mut().zip(first..) {
            room.tree = TreeId(number);
        }
        self.rooms.len() as u16
    }

    /// How many files stayed in place against their rule, and why the first did.
    pub(crate) fn spilled_files(&self) -> (u64, String) {
        (self.spilled.load(Relaxed), self.why_spilled.get().cloned().unwrap_or_default())
    }

    /// Files are written back when the run ends.
    pub(crate) fn has_rules(&self) -> bool {
        self.rules.is_some()
    }

    pub(crate) fn tier_directory(&self, placed: &TieredFile) -> &TierDirectory {
        &self.rooms[placed.room]
    }

    pub(crate) fn tier_directory_at(&self, number: usize) -> &TierDirectory {
        &self.rooms[number]
    }

    /// Leaves a file in place, or refuses it, as its rule says.
    pub(crate) fn spill_or_fail<T>(
        &self,
        placement: &Placement,
        why: impl FnOnce() -> String,
    ) -> Result<Option<T>, Errno> {
        if placement.full == FullTierPolicy::Fail {
            return Err(Errno::NOSPC);
        }
        self.spilled.fetch_add(1, Relaxed);
        self.note_spill_reason(why);
        Ok(None)
    }

    /// A tier had no room for us when the run began.
    fn note_full_tier(&self, trouble: &TierError) {
        self.note_spill_reason(|| format!("a tier is full: {trouble}"));
    }

    fn note_spill_reason(&self, why: impl FnOnce() -> String) {
        self.why_spilled.get_or_init(|| {
            let why = why();
            tracing::warn!("files stay in place against their rule: {why}");
            why
        });
    }

    /// The placed file that the symbolic link `name` stands for, if it is one of ours. Whether the
    /// body belongs to whom the link belongs is for `is_trusted_link` to say.
    pub(crate) fn recognise_link(&self, dir: BorrowedFd<'_>, name: &CStr) -> Option<TieredFile> {
        let target = readlinkat(dir, name, Vec::with_capacity(256)).ok()?;
        let (room, key) =
            self.rooms.iter().enumerate().find_map(|(number, room)| {
                Some((number, room.key_from_target(target.to_bytes())?))
            })?;
        Some(TieredFile::new(room, key))
    }

    /// The path of a body.
    pub(crate) fn data_file_path(&self, placed: &TieredFile) -> std::path::PathBuf {
        let name = std::ffi::OsStr::from_bytes(placed.key.to_bytes());
        self.tier_directory(placed).path.join(name)
    }

    /// Attributes of a body.
    pub(crate) fn stat_data_file(&self, placed: &TieredFile) -> Result<Statx, Errno> {
        self.tier_directory(placed).stat_data_file(&placed.key)
    }

    /// Opens a body.
    pub(crate) fn open_data_file(
        &self,
        placed: &TieredFile,
        flags: rustix::fs::OFlags,
    ) -> Result<OwnedFd, Errno> {
        self.tier_directory(placed).open_data_file(&placed.key, flags)
    }

    /// Notes how many bytes a body takes.
    pub(crate) fn charge_bytes(&self, placed: &TieredFile, bytes: u64) {
        if !placed.gone.load(Relaxed) {
            let before = placed.charged.swap(bytes, Relaxed);
            self.tier_directory(placed).charge_bytes(before, bytes);
        }
    }

    /// The last name of a body is about to go. The first time it is for the daemon itself to say so.
    pub(crate) fn note_removal(
        &self,
        placed: &TieredFile,
        credentials: Credentials,
    ) -> RemovalSlot {
        let room = self.tier_directory(placed);
        match room.has_removal_notes() {
            true => room.note_removal(&placed.key),
            false => credentials.run_as_daemon(|| room.note_removal(&placed.key)),
        }
    }

    /// It did not go.
    pub(crate) fn cancel_removal(&self, placed: &TieredFile, slot: RemovalSlot) {
        self.tier_directory(placed).cancel_removal(slot);
    }

    /// Takes a body away; its last name is gone.
    pub(crate) fn remove_data_file(&self, placed: &TieredFile) {
        self.forget_creator(placed);
        let _ = self.tier_directory(placed).remove_data_file(&placed.key);
        if !placed.gone.swap(true, Relaxed) {
            self.tier_directory(placed).charge_bytes(placed.charged.load(Relaxed), 0);
        }
    }

    /// Takes a body out of use that another file has replaced. It is removed later: the tier could
    /// be faster than the directory to make its change last, and a power failure between the two
    /// would leave the old name without bytes.
    pub(crate) fn retire_data_file(&self, placed: &TieredFile, now: u64) {
        self.forget_creator(placed);
        match self.tier_directory(placed).retire_data_file(&placed.key) {
            Ok(name) => self.retired.lock().push((now, placed.room, name)),
            Err(_) => return self.remove_data_file(placed),
        }
        if !placed.gone.swap(true, Relaxed) {
            self.tier_directory(placed).charge_bytes(placed.charged.load(Relaxed), 0);
        }
    }

    /// Removes bodies that were replaced long ago, and looks after the book.
    pub(crate) fn remove_retired(&self, now: u64) {
        self.book.rewrite_if_removed(true);
        self.retired.lock().retain(|(then, room, name)| {
            let keep = now.saturating_sub(*then) < RETIRED_NANOS;
            if !keep {
                let _ = self.rooms[*room].remove_data_file(name);
            }
            keep
        });
    }
}
