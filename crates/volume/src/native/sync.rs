//! fsync(2): at once, soon, or not at all, as the file's rule says.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::Fsync;
use rustix::fs::OFlags;
use rustix::io::fcntl_dupfd_cloexec;

use super::{Handle, Native, Result};
use crate::tiers::{SyncJob, TieredFile, Tiers, WhichSync};
use forebay_os::files::reopen;

impl Native {
    /// Makes the file's bytes safe.
    ///
    /// # Errors
    /// EIO and the like, once, as fsync(2) says.
    pub(crate) fn fsync(&self, handle: &Handle, data_only: bool) -> Result<()> {
        self.settle_pages(handle);
        let written = handle.report_error();
        self.sync_by_rule(handle, data_only).and(written)
    }

    fn sync_by_rule(&self, handle: &Handle, data_only: bool) -> Result<()> {
        if let Some(packed) = handle.node.packed.get() {
            return self.fsync_packed(handle, packed);
        }
        if let (Some(tiers), Some(placed)) = (&self.tiers, handle.node.placed.get()) {
            let path = self.path_of(&handle.node);
            match tiers.rule_of(&path, || placed.maker()).map_or(Fsync::Durable, |rule| rule.fsync)
            {
                Fsync::Durable => self.name_placed(tiers, handle, &placed)?,
                Fsync::Ordered => return self.sync_soon(tiers, handle, &placed, path),
                Fsync::Scratch => return Ok(()),
            }
        }
        let file = self.open_file(handle)?;
        self.sync_written(handle, || match data_only {
            true => rustix::fs::fdatasync(file),
            false => rustix::fs::fsync(file),
        })
    }

    /// Once, makes the names of a placed file safe: that of its body, and its own.
    fn name_placed(&self, tiers: &Tiers, handle: &Handle, placed: &TieredFile) -> Result<()> {
        if !placed.named.load(Relaxed) {
            // The caller may write the file without being allowed to read its directory.
            self.credentials.revert();
            rustix::fs::fsync(tiers.room(placed).root())?;
            if let Some((parent, _)) = handle.node.name() {
                let dir = self.dir_fd(parent)?;
                rustix::fs::fsync(reopen(dir.as_fd(), OFlags::RDONLY | OFlags::DIRECTORY)?)?;
            }
            placed.named.store(true, Relaxed);
        }
        Ok(())
    }

    /// Has both done in the background: bytes first, names later.
    fn sync_soon(
        &self,
        tiers: &Tiers,
        handle: &Handle,
        placed: &Arc<TieredFile>,
        path: Vec<u8>,
    ) -> Result<()> {
        self.credentials.revert();
        let file = self.open_file(handle)?;
        let file = self.with_room(|| fcntl_dupfd_cloexec(file, 0))?;
        let mut dirs = Vec::new();
        let with_names = !placed.named.load(Relaxed);
        if with_names {
            dirs.push(self.with_room(|| fcntl_dupfd_cloexec(tiers.room(placed).root(), 0))?);
            if let Some((parent, _)) = handle.node.name() {
                let dir = self.dir_fd(parent)?;
                let how = OFlags::RDONLY | OFlags::DIRECTORY;
                dirs.push(self.with_room(|| reopen(dir.as_fd(), how))?);
            }
        }
        let named = Arc::clone(placed);
        let run = move || {
            rustix::fs::fsync(file)?;
            dirs.into_iter().try_for_each(rustix::fs::fsync)?;
            named.named.store(true, Relaxed);
            Ok(())
        };
        let which = WhichSync::Body(placed.room, placed.key.clone());
        tiers.sync_soon(SyncJob { which, with_names, path, run: Box::new(run) })
    }
}
