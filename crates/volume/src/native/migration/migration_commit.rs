//! The end of a move: the new file gets the old one's name, and what the file was before goes when
//! that is safe.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Statx, chmodat, ftruncate, openat};
use rustix::io::Errno;

use super::{ActiveMigration, MigrationTicket};
use crate::native::lease::{self, LeaseOutcome};
use crate::native::{Native, Result};
use crate::tiers::{StagedFile, StagingPath, TieredFile, Tiers, merged_attributes};
use forebay_os::file_identity::{proc_fd_path, reopen_with_flags, statx_nofollow};

/// A file that has moved, and what is to go when its name is safe.
#[derive(Debug)]
pub(crate) struct MigratedFile {
    /// Its directory.
    pub(crate) dir: Arc<OwnedFd>,
    pub(crate) safe: bool,
    from: Option<Arc<TieredFile>>,
    to: Option<Arc<TieredFile>>,
    ticket: Arc<MigrationTicket>,
    bytes: u64,
}

impl MigratedFile {
    pub(in crate::native) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Native {
    /// Gives what was carried the name of the file, in one step for whoever looks.
    ///
    /// # Errors
    /// ECANCELED when somebody uses the file or has changed it; else the file system's. What was
    /// carried is gone then.
    pub(crate) fn commit_migration(
        &self,
        passage: &StagingPath,
        moving: &ActiveMigration,
        carried: &StagedFile,
    ) -> Result<MigratedFile> {
        let tiers = self.tiers.as_ref().ok_or(Errno::STALE)?;
        let done = self.try_commit_migration(tiers, passage, moving, carried);
        match done {
            Ok(_) => {
                let name = moving.cargo.name.as_c_str();
                self.invalidate_migrated(&moving.node, (moving.parent, name));
            }
            Err(_) => tiers.drop_migrated_file(passage, carried),
        }
        done
    }

    fn try_commit_migration(
        &self,
        tiers: &Tiers,
        passage: &StagingPath,
        moving: &ActiveMigration,
        carried: &StagedFile,
    ) -> Result<MigratedFile> {
        let ActiveMigration { node, parent, cargo, ticket } = moving;
        let to = carried.check_identity(passage)?;
        let _alone = self.still.try_lock_exclusive(node.id, *parent).ok_or(Errno::CANCELED)?;
        // From the rename on until the table knows of it, nobody is to think that it was made outside.
        let _naming = self.naming.read_recursive();
        let mut open = node.open.lock();
        let mine = open.moving.take().is_some_and(|now| Arc::ptr_eq(&now, ticket));
        if !mine || open.shared.is_open() || !ticket.is_undisturbed() {
            return Err(Errno::CANCELED);
        }
        let dir = self.dir_fd(*parent)?;
        let same_name = node.newest_name().as_ref() == Some(&(*parent, cargo.name.clone()));
        let now = statx_nofollow(ticket.file.as_fd(), c"")?;
        if !same_name
            || self.path_of(node) != cargo.path
            || !self.can_migrate(node, dir.as_fd(), &cargo.name)?
            || !is_unchanged(&cargo.stat, &now)
            || ticket.leased && lease::try_write_lease(ticket.file.as_fd()) != LeaseOutcome::Alone
        {
            return Err(Errno::CANCELED);
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let was = self.with_free_descriptors(|| openat(&dir, &cargo.name, flags, Mode::empty()));
        let mut shown = stat_merged(tiers, dir.as_fd(), cargo.from.as_deref(), &cargo.name)?;
        node.guise.apply_to(&mut shown);
        // To its programs nothing has happened to the directory, nor has it to Nextflow's hashes.
        let up = self.node(*parent)?;
        let _times = up.folder.get().map(|folder| folder.lock_times());
        let before = statx_nofollow(dir.as_fd(), c"")?;
        tiers.forget_copy(node.identity());
        let placed =
            tiers.name_migrated_file(passage, carried, dir.as_fd(), &cargo.name)?.map(Arc::new);
        crate::tiers::set_directory_times(dir.as_fd(), &before);
        node.placed.set(placed.clone());
        let name = &cargo.name;
        let since = stat_merged(tiers, dir.as_fd(), placed.as_deref(), name).unwrap_or(shown);
        if self.table.change_identity(node, to, (&shown, &since))
            && let Ok(was) = was
        {
            self.table.keep_old_inode(node, was);
        }
        open.fresh = None;
        Ok(MigratedFile {
            dir,
            safe: cargo.safe || cargo.from.is_none(),
            from: cargo.from.clone(),
            to: placed,
            ticket: Arc::clone(ticket),
            bytes: cargo.stat.stx_size,
        })
    }

    /// The new name is safe: what the file was before goes.
    pub(crate) fn finish_migration(&self, moved: &MigratedFile) {
        let Some(tiers) = &self.tiers else { return };
        match &moved.from {
            Some(from) => tiers.finish_migration(from, moved.to.as_deref(), moved.bytes),
            None => {
                // Its inode is kept for its number, and not for its bytes, unless somebody outside
                // had found it by its name before and wants to open it now.
                let kept = moved.ticket.file.as_fd();
                if !lease::is_lease_kept(kept) {
                    return lease::release_lease(kept);
                }
                let path = proc_fd_path(kept);
                // Without either it takes room until the kernel forgets it.
                let _ = chmodat(CWD, path, Mode::RUSR | Mode::WUSR, AtFlags::empty());
                lease::release_lease(kept);
                if let Ok(file) = reopen_with_flags(kept, OFlags::WRONLY | OFlags::NONBLOCK) {
                    // As above.
                    let _ = ftruncate(file, 0);
                }
            }
        }
    }
}

fn stat_merged(
    tiers: &Tiers,
    dir: BorrowedFd<'_>,
    placed: Option<&TieredFile>,
    name: &CStr,
) -> Result<Statx> {
    let stat = statx_nofollow(dir, name)?;
    match placed {
        Some(placed) => tiers.stat_data_file(placed).map(|body| merged_attributes(&stat, &body)),
        None => Ok(stat),
    }
}

/// Whether nothing of a file has changed.
fn is_unchanged(before: &Statx, now: &Statx) -> bool {
    let key = |stat: &Statx| {
        let (m, c) = (&stat.stx_mtime, &stat.stx_ctime);
        let links = u64::from(stat.stx_nlink);
        (stat.stx_size, links, m.tv_sec, m.tv_nsec, c.tv_sec, c.tv_nsec)
    };
    key(before) == key(now)
}
