//! A file changes its place while nobody uses it: its bytes are carried where its rule sends it
//! (`tiers::staged_migration`), and one rename gives the new file the old one's name. To programs
//! it stays the file that it was, with its number.
//!
//! Whoever opens or changes the file meanwhile ends the move, which begins anew after the last
//! close. So a file is moved as it was when nobody had it open, or not at all.

mod migration_commit;

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::lease::{self, LeaseOutcome};
use super::ticket::MigrationTicket;
use super::{Native, Node, Result};
use crate::tiers::{Goal, MigrationJob, StagedFile, StagingPath, Tiers};
use forebay_os::file_identity::{FileIdentity, device_number, statx_nofollow};
pub(crate) use migration_commit::MigratedFile;

/// A file that is being moved.
#[derive(Debug)]
pub(crate) struct ActiveMigration {
    node: Arc<Node>,
    parent: u64,
    pub(crate) cargo: MigrationJob,
    ticket: Arc<MigrationTicket>,
}

/// What came of the wish to move a file.
#[derive(Debug)]
pub(crate) enum MigrationStart {
    /// It is where it belongs, or has to stay; or the last who closes it will ask again.
    No,
    /// Somebody uses it.
    Later,
    /// On its way.
    Yes(Box<ActiveMigration>),
}

impl Native {
    /// Begins to move a file, if its rule sends it elsewhere and nobody uses it.
    ///
    /// # Errors
    /// Its file systems'.
    pub(crate) fn begin_migration(&self, id: u64) -> Result<MigrationStart> {
        let (Some(tiers), Ok(node)) = (&self.tiers, self.node(id)) else {
            return Ok(MigrationStart::No);
        };
        let Some((parent, name)) = node.newest_name() else { return Ok(MigrationStart::No) };
        let Some(_alone) = self.still.try_lock_exclusive(id, parent) else {
            return Ok(MigrationStart::Later);
        };
        if node.newest_name().as_ref() != Some(&(parent, name.clone())) {
            return Ok(MigrationStart::Later);
        }
        let mut open = node.open.lock();
        if open.moving.is_some() {
            // To open it once more would break our own lease, and wait for ourselves.
            return Ok(MigrationStart::Later);
        }
        let special = node.kind == libc::S_IFDIR || node.packed.get().is_some();
        if special || open.shared.is_open() || node.foreign.load(Relaxed) {
            return Ok(MigrationStart::No);
        }
        let placed = node.placed.get();
        let path = self.path_of(&node);
        let Some((goal, safe)) = tiers.migration_goal(&path, placed.as_deref()) else {
            return Ok(MigrationStart::No);
        };
        let dir = self.dir_fd(parent)?;
        if !self.can_migrate(&node, dir.as_fd(), &name)? || self.posix_locks.has_locks(id) {
            return Ok(MigrationStart::No);
        }
        let (file, mode) = match &placed {
            Some(placed) if !tiers.is_data_file_synced(placed) => return Ok(MigrationStart::Later),
            Some(placed) => MigrationJob::open_data_file(tiers, placed)?,
            None => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                let file =
                    self.with_free_descriptors(|| openat(&dir, &name, flags, Mode::empty()))?;
                let mode = u32::from(statx_nofollow(file.as_fd(), c"")?.stx_mode) & 0o7777;
                (file, mode)
            }
        };
        let leased = match lease::try_write_lease(file.as_fd()) {
            LeaseOutcome::Alone => true,
            LeaseOutcome::Busy => return Ok(MigrationStart::Later),
            // Without passthrough nobody inside has a mapping that we do not know of. But nothing
            // tells of those outside who write a file in place.
            LeaseOutcome::Unknown if self.passthrough.load(Relaxed) || placed.is_none() => {
                return Ok(MigrationStart::No);
            }
            LeaseOutcome::Unknown => false,
        };
        if leased && goal == Goal::Place {
            lease::downgrade_lease(file.as_fd());
        }
        let stat = statx_nofollow(file.as_fd(), c"")?;
        let held = self.with_free_descriptors(|| rustix::io::fcntl_dupfd_cloexec(&file, 0))?;
        let ticket = Arc::new(MigrationTicket::new(held, leased));
        open.moving = Some(Arc::clone(&ticket));
        drop(open);
        let cargo = MigrationJob { file, stat, mode, path, name, from: placed, goal, safe };
        Ok(MigrationStart::Yes(Box::new(ActiveMigration { node, parent, cargo, ticket })))
    }

    /// Whether a file is what we know under its name, and has no other.
    fn can_migrate(
        &self,
        node: &Node,
        dir: std::os::fd::BorrowedFd<'_>,
        name: &std::ffi::CStr,
    ) -> Result<bool> {
        let up = statx_nofollow(dir, c"")?;
        let here = statx_nofollow(dir, name)?;
        let kind = u32::from(here.stx_mode) & libc::S_IFMT;
        let wanted = if node.placed.is_some() { libc::S_IFLNK } else { libc::S_IFREG };
        let place = node.place.lock();
        Ok(FileIdentity::from_statx(&here) == node.identity()
            && kind == wanted
            && here.stx_nlink == 1
            && place.names.len() == 1
            && place.pin.is_none()
            // The way home does not enter other parts of a file system.
            && device_number(&up) == self.table.device()
            && !super::tiered_creation::inherits_acl(dir))
    }

    /// Carries the bytes. `over`: nothing is to be begun or gone on with any more.
    ///
    /// # Errors
    /// The file systems'; ECANCELED when somebody uses the file.
    pub(crate) fn stage_migration(
        tiers: &Tiers,
        passage: &StagingPath,
        moving: &ActiveMigration,
        over: &dyn Fn() -> bool,
    ) -> Result<StagedFile> {
        let step = |_| match moving.ticket.is_undisturbed() && !over() {
            true => Ok(()),
            false => Err(Errno::CANCELED),
        };
        tiers.stage_migration(passage, &moving.cargo, &step)
    }

    /// A move has come to nothing.
    pub(super) fn abort_migration(&self, moving: &ActiveMigration) {
        moving.ticket.cancel_migration();
        let mut open = moving.node.open.lock();
        if open.moving.as_ref().is_some_and(|now| Arc::ptr_eq(now, &moving.ticket)) {
            open.moving = None;
        }
    }

    /// Somebody is about to use a file, or to change it: it does not move now.
    pub(crate) fn cancel_migration(&self, node: &Node) {
        if let Some(ticket) = node.open.lock().moving.take() {
            ticket.cancel_migration();
        }
    }
}

impl ActiveMigration {
    /// The file, for a message.
    pub(super) fn display_path(&self) -> String {
        self.cargo.display_path()
    }
}

#[cfg(test)]
pub(super) mod tests;
