//! fsync(2): at once, soon, or not at all, as the file's rule says.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::FsyncMode;
use rustix::fs::OFlags;
use rustix::io::fcntl_dupfd_cloexec;

use super::{FileHandle, Native, Result};
use crate::tiers::{SyncJob, SyncTarget, TieredFile, Tiers};
use forebay_os::file_identity::reopen_with_flags;

impl Native {
    /// Makes the file's bytes safe.
    ///
    /// # Errors
    /// EIO and the like, once, as fsync(2) says.
    pub(crate) fn fsync(&self, handle: &FileHandle, data_only: bool) -> Result<()> {
        self.write_held_pages(handle);
        let written = handle.report_write_error();
        self.sync_by_rule(handle, data_only).and(written)
    }

    fn sync_by_rule(&self, handle: &FileHandle, data_only: bool) -> Result<()> {
        if let Some(packed) = handle.node.packed.get() {
            return self.fsync_packed(handle, packed);
        }
        if let (Some(tiers), Some(placed)) = (&self.tiers, handle.node.placed.get()) {
            let path = self.path_of(&handle.node);
            match tiers
                .rule_for_file(&path, || placed.creator_key())
                .map_or(FsyncMode::Durable, |rule| rule.fsync)
            {
                FsyncMode::Durable => self.sync_tiered_names(tiers, handle, &placed)?,
                FsyncMode::Ordered => return self.sync_in_background(tiers, handle, &placed, path),
                FsyncMode::Scratch => return Ok(()),
            }
        }
        let file = self.ensure_opened(handle)?;
        self.sync_local_and_backend(handle, || match data_only {
            true => rustix::fs::fdatasync(file),
            false => rustix::fs::fsync(file),
        })
    }

    /// Once, makes the names of a placed file safe: that of its body, and its own.
    fn sync_tiered_names(
        &self,
        tiers: &Tiers,
        handle: &FileHandle,
        placed: &TieredFile,
    ) -> Result<()> {
        if !placed.named.load(Relaxed) {
            // The caller may write the file without being allowed to read its directory.
            self.credentials.revert();
            rustix::fs::fsync(tiers.tier_directory(placed).root())?;
            if let Some((parent, _)) = handle.node.newest_name() {
                let dir = self.dir_fd(parent)?;
                rustix::fs::fsync(reopen_with_flags(
                    dir.as_fd(),
                    OFlags::RDONLY | OFlags::DIRECTORY,
                )?)?;
            }
            placed.named.store(true, Relaxed);
        }
        Ok(())
    }

    /// Has both done in the background: bytes first, names later.
    fn sync_in_background(
        &self,
        tiers: &Tiers,
        handle: &FileHandle,
        placed: &Arc<TieredFile>,
        path: Vec<u8>,
    ) -> Result<()> {
        self.credentials.revert();
        let file = self.ensure_opened(handle)?;
        let file = self.with_free_descriptors(|| fcntl_dupfd_cloexec(file, 0))?;
        let mut dirs = Vec::new();
        let with_names = !placed.named.load(Relaxed);
        if with_names {
            dirs.push(self.with_free_descriptors(|| {
                fcntl_dupfd_cloexec(tiers.tier_directory(placed).root(), 0)
            })?);
            if let Some((parent, _)) = handle.node.newest_name() {
                let dir = self.dir_fd(parent)?;
                let how = OFlags::RDONLY | OFlags::DIRECTORY;
                dirs.push(self.with_free_descriptors(|| reopen_with_flags(dir.as_fd(), how))?);
            }
        }
        let named = Arc::clone(placed);
        let run = move || {
            rustix::fs::fsync(file)?;
            dirs.into_iter().try_for_each(rustix::fs::fsync)?;
            named.named.store(true, Relaxed);
            Ok(())
        };
        let which = SyncTarget::Body(placed.room, placed.key.clone());
        tiers.enqueue_sync(SyncJob { which, with_names, path, run: Box::new(run) })
    }
}
