//! Making packed files safe from power failure.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::FsyncMode;
use rustix::fs::OFlags;
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use super::PackedFile;
use crate::native::{FileHandle, Native, Node, Result};
use crate::tiers::{CreatorKey, SyncJob, SyncTarget};
use forebay_os::file_identity::reopen_with_flags;

impl Native {
    /// fsync(2): the bytes and the names, once and for all that is packed.
    pub(in crate::native) fn fsync_packed(
        &self,
        handle: &FileHandle,
        packed: &PackedFile,
    ) -> Result<()> {
        let (Some(pack), Some(tiers)) = (self.pack(), self.tiers()) else {
            return Err(Errno::STALE);
        };
        let path = self.path_of(&handle.node);
        let policy = tiers.rule_for_file(&path, || CreatorKey::Packed(packed.ino));
        let policy = policy.map_or(FsyncMode::Durable, |rule| rule.fsync);
        if policy == FsyncMode::Scratch {
            return Ok(());
        }
        self.credentials.revert();
        if let Some(used) = &mut *packed.in_use.lock() {
            self.commit_packed_content(packed, used, true)?;
            if policy == FsyncMode::Ordered {
                let body = match pack.is_data_file(packed.ino, &used.work) {
                    true => Some(
                        self.with_free_descriptors(|| fcntl_dupfd_cloexec(&used.work.file, 0))?,
                    ),
                    false => None,
                };
                return self.sync_packed_in_background(handle, packed, body, path);
            }
            pack.sync_data_file(packed.ino, &used.work)?;
        }
        if policy == FsyncMode::Ordered {
            return self.sync_packed_in_background(handle, packed, None, path);
        }
        pack.sync()?;
        // Its directory is one in place.
        if let Some((parent, _)) = handle.node.newest_name() {
            let dir = self.node(parent)?;
            if !dir.named.load(Relaxed) {
                let fd = self.dir_fd_of(&dir)?;
                rustix::fs::fsync(reopen_with_flags(
                    fd.as_fd(),
                    OFlags::RDONLY | OFlags::DIRECTORY,
                )?)?;
                dir.named.store(true, Relaxed);
            }
        }
        Ok(())
    }

    /// The same, done soon: the log has the file as it is now, and is one history.
    fn sync_packed_in_background(
        &self,
        handle: &FileHandle,
        packed: &PackedFile,
        body: Option<OwnedFd>,
        path: Vec<u8>,
    ) -> Result<()> {
        let (Some(pack), Some(tiers)) = (self.pack().cloned(), self.tiers()) else {
            return Err(Errno::STALE);
        };
        let dir = match handle.node.newest_name() {
            Some((parent, _)) => Some(self.node(parent)?).filter(|dir| !dir.named.load(Relaxed)),
            None => None,
        };
        // Whoever is told of an earlier failure is so when both are taken.
        let mut done = Ok(());
        let is_apart = body.is_some();
        if let Some(body) = body {
            let (pack, path) = (Arc::clone(&pack), path.clone());
            let run = move || {
                rustix::fs::fsync(body)?;
                pack.sync_working_files()?;
                pack.sync()
            };
            let which = SyncTarget::PackedBody(packed.ino);
            let run = Box::new(run);
            done = tiers.enqueue_sync(SyncJob { which, with_names: false, path, run });
        }
        if let Some(dir) = dir {
            let fd = self.dir_fd_of(&dir)?;
            let how = OFlags::RDONLY | OFlags::DIRECTORY;
            let fd = self.with_free_descriptors(|| reopen_with_flags(fd.as_fd(), how))?;
            let which = SyncTarget::PackedDir(dir.id);
            let run = move || {
                pack.sync()?;
                rustix::fs::fsync(fd)?;
                dir.named.store(true, Relaxed);
                Ok(())
            };
            let run = Box::new(run);
            done = done.and(tiers.enqueue_sync(SyncJob { which, with_names: false, path, run }));
        } else if !is_apart {
            let run = Box::new(move || pack.sync());
            let which = SyncTarget::Log;
            done = tiers.enqueue_sync(SyncJob { which, with_names: false, path, run });
        }
        done
    }

    /// Before a packed file gets a name: its bytes that were asked to be safe are.
    pub(super) fn sync_before_naming_packed(&self, ino: u64) -> Result<()> {
        self.tiers().map_or(Ok(()), |tiers| tiers.sync_before_naming_packed(ino))
    }

    /// Makes the bytes of a large file safe.
    pub(super) fn sync_packed_bytes(&self, node: &Node) -> Result<()> {
        let (Some(packed), Some(pack)) = (node.packed.get(), self.pack()) else { return Ok(()) };
        match &*packed.in_use.lock() {
            Some(used) => pack.sync_data_file(packed.ino, &used.work),
            None => match pack.open_working_file(packed.ino)? {
                Some(work) => pack.sync_data_file(packed.ino, &work),
                None => Ok(()),
            },
        }
    }

    /// A write through a handle that was opened to write safely (`O_SYNC`, `O_DSYNC`).
    pub(in crate::native) fn sync_if_asked(
        &self,
        handle: &FileHandle,
        packed: &PackedFile,
    ) -> Result<()> {
        match handle.syncs {
            true => self.fsync_packed(handle, packed),
            false => Ok(()),
        }
    }

    /// Makes packed names safe, for whoever makes a directory safe.
    pub(crate) fn sync_pack(&self) -> Result<()> {
        match self.pack() {
            Some(pack) if !pack.is_durable() => pack.sync(),
            _ => Ok(()),
        }
    }
}
