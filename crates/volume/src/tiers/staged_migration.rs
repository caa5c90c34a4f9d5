//! Moving a file while the run goes on: home from its tier, or to where the rule of its new name
//! sends it. Here are the bytes: the file is made whole where it goes, under a name that nobody
//! knows, and safe. That it gets its name by one rename, while nobody uses it, is for
//! `native::migration`.

mod staged_file;

use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::{FileLocation, FsyncMode, Placement, RunEndAction, WriteBackTrigger};
use rustix::fs::{AtFlags, Statx, renameat, unlinkat};
use rustix::io::Errno;

use super::staging_path::StagingPath;
use super::syncing::SyncTarget;
use super::walk::WalkMode;
use super::{TieredFile, Tiers};
pub(crate) use staged_file::StagedFile;

/// Where a file is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Home, as a plain file.
    Place,
    /// To the tier with this room.
    TierDirectory(usize),
}

/// A file that is to be moved, and how.
#[derive(Debug)]
pub(crate) struct MigrationJob {
    /// Its bytes, open to read.
    pub(crate) file: OwnedFd,
    /// Their attributes when it was opened.
    pub(crate) stat: Statx,
    pub(crate) mode: u32,
    /// Below the covered directory.
    pub(crate) path: Vec<u8>,
    pub(crate) name: CString,
    /// The body that it has now.
    pub(crate) from: Option<Arc<TieredFile>>,
    pub(crate) goal: Goal,
    /// It is to be safe from a power failure before it has its name.
    pub(crate) safe: bool,
}

impl Tiers {
    /// Files move while the run goes on.
    pub(crate) fn can_migrate_files(&self) -> bool {
        self.rules.is_some()
    }

    /// Files come home from their tier while the run goes on.
    pub(crate) fn writes_back_during_run(&self) -> bool {
        self.rules.as_ref().is_some_and(|rules| rules.writes_back_during_run())
    }

    /// Some tier that drains has little room left: what waits to come home should not wait.
    pub(crate) fn is_short_of_space(&self) -> bool {
        self.writes_back_during_run()
            && self.rooms.iter().any(|room| room.writable && room.is_short_of_space())
    }

    /// Files on tiers that an earlier run left there and that belong elsewhere, by their paths.
    pub(crate) fn leftover_paths(&self, root: &OwnedFd) -> Vec<Vec<u8>> {
        // A walk over a million files is not for nothing.
        if !self.writes_back_during_run() || !self.rooms.iter().any(|room| room.had_bodies) {
            return Vec::new();
        }
        let found = super::write_back::tiered_links::find_tiered_links(root, self, WalkMode::Look)
            .groups
            .into_iter();
        let one = found.filter_map(|group| {
            let path = group.only_path()?.as_os_str().as_bytes().to_vec();
            self.migration_goal(&path, Some(&group.placed)).is_some().then_some(path)
        });
        one.collect()
    }

    /// Where a file is to go that nobody uses, and how safe its bytes are to be; `None`: it stays.
    pub(crate) fn migration_goal(
        &self,
        path: &[u8],
        placed: Option<&TieredFile>,
    ) -> Option<(Goal, bool)> {
        let rule = match placed {
            Some(placed) => self.rule_for_file(path, || placed.creator_key()),
            None => self.rule_for_path(path),
        }?;
        let safe = rule.fsync != FsyncMode::Scratch;
        let goal = match (&rule.home, placed) {
            (FileLocation::Here, Some(_)) => Goal::Place,
            (FileLocation::Here, None) => return None,
            // A log is no place for what is a file already.
            (FileLocation::Tier(_), _) if rule.layout.is_packed() => return None,
            (FileLocation::Tier(_), Some(_)) if rule.drain == WriteBackTrigger::Closed => {
                Goal::Place
            }
            (FileLocation::Tier(tier), Some(placed))
                if self.tier_directory(placed).tier == *tier =>
            {
                return None;
            }
            (FileLocation::Tier(_), None) if !may_migrate_to_tier(rule) => return None,
            (FileLocation::Tier(tier), _) => {
                let fits = |room: &super::TierDirectory| {
                    room.tier == *tier && room.writable && !room.is_full()
                };
                Goal::TierDirectory(self.rooms.iter().position(fits)?)
            }
        };
        Some((goal, safe))
    }

    /// Whether no sync of a body is still to be carried out, or failed.
    pub(crate) fn is_data_file_synced(&self, placed: &TieredFile) -> bool {
        self.syncing.is_settled(&SyncTarget::Body(placed.room, placed.key.clone()))
    }

    /// Gives a carried file the name of the one that it was made from; tells its body.
    ///
    /// # Errors
    /// The file system's, ECANCELED when it is another file; nothing has changed then.
    pub(crate) fn name_migrated_file(
        &self,
        passage: &StagingPath,
        carried: &StagedFile,
        dir: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<Option<TieredFile>, Errno> {
        carried.check_identity(passage)?;
        carried.note_before_naming(passage)?;
        let named = renameat(passage.dir(), &carried.name, dir, name);
        if named.is_err() {
            carried.note_naming_failed(passage);
        }
        named?;
        let Some((number, key, reserved)) = &carried.body else { return Ok(None) };
        let placed = TieredFile::new(*number, key.clone());
        placed.charged.store(*reserved, Relaxed);
        if let Ok(body) = self.stat_data_file(&placed) {
            self.charge_bytes(&placed, body.stx_blocks * 512);
        }
        Ok(Some(placed))
    }

    /// Takes away what was carried for nothing.
    pub(crate) fn drop_migrated_file(&self, passage: &StagingPath, carried: &StagedFile) {
        self.remove_staged_file(passage, &carried.name, carried.body.as_ref());
    }

    fn remove_staged_file(
        &self,
        passage: &StagingPath,
        name: &CStr,
        body: Option<&(usize, CString, u64)>,
    ) {
        let _ = unlinkat(passage.dir(), name, AtFlags::empty());
        if let Some((number, key, reserved)) = body {
            let room = &self.rooms[*number];
            room.remove_copy(key);
            let _ = room.remove_data_file(key);
            room.charge_bytes(*reserved, 0);
        }
    }

    /// A file has its name where it went, and that is safe: the body that it had goes.
    pub(crate) fn finish_migration(&self, from: &TieredFile, to: Option<&TieredFile>, bytes: u64) {
        match to {
            Some(to) => self.inherit_creator(from, to),
            None => {
                self.moved.0.fetch_add(1, Relaxed);
                self.moved.1.fetch_add(bytes, Relaxed);
            }
        }
        self.remove_data_file(from);
    }

    /// Files that came home so far, and their bytes.
    pub(crate) fn written_back_counts(&self) -> (u64, u64) {
        (self.moved.0.load(Relaxed), self.moved.1.load(Relaxed))
    }
}

/// Whether a file in place may go where this rule says: not where it would be deleted, nor to come
/// home again.
fn may_migrate_to_tier(rule: &Placement) -> bool {
    rule.drain == WriteBackTrigger::End && rule.after != RunEndAction::Discard
}

impl MigrationJob {
    /// Opens a body.
    ///
    /// # Errors
    /// The tier's.
    pub(crate) fn open_data_file(
        tiers: &Tiers,
        placed: &TieredFile,
    ) -> Result<(OwnedFd, u32), Errno> {
        super::copy::open_readable(tiers, placed)
    }

    /// The name alone, of a path below the covered directory.
    pub(crate) fn display_path(&self) -> String {
        std::path::Path::new(std::ffi::OsStr::from_bytes(&self.path)).display().to_string()
    }
}
