//! Directories that programs have open.

use std::os::fd::AsFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags, openat};

use super::dir_reader::DirReader;
use super::{DirHandle, Native, Result};

impl Native {
    /// Opens a directory for reading.
    ///
    /// # Errors
    /// EACCES and the like, as the caller.
    pub fn opendir(&self, id: u64) -> Result<u64> {
        let node = self.node(id)?;
        self.ensure_listed(&node)?;
        let path = self.dir_fd_of(&node)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = self.with_free_descriptors(|| openat(&path, c".", flags, Mode::empty()))?;
        let reader = Mutex::new(DirReader::new(fd));
        let handle = Arc::new(DirHandle { node, reader, packed: Mutex::default() });
        let fh = self.allocate_handle();
        self.dirs.lock().insert(fh, handle);
        Ok(fh)
    }

    /// Ends the reading of a directory.
    pub fn releasedir(&self, fh: u64) {
        self.dirs.lock().remove(&fh);
    }

    /// Makes a directory's names safe.
    ///
    /// # Errors
    /// EIO and the like.
    pub fn fsyncdir(&self, fh: u64, data_only: bool) -> Result<()> {
        let handle = self.dir_handle(fh)?;
        self.sync_pack()?;
        self.set_pending_times(&handle.node);
        let reader = handle.reader.lock();
        match data_only {
            true => rustix::fs::fdatasync(reader.fd.as_fd())?,
            false => rustix::fs::fsync(reader.fd.as_fd())?,
        }
        drop(reader);
        self.sync_directory_names(&handle.node)
    }
}
