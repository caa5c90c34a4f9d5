//! How a replay gets to its directories, and what it makes there ahead.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_plan::replay::Transfer;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Result;

use super::metadata_calls::{accept_existing, mkdir};
use super::step_execution::{StepExecutor, lock_unpoisoned};

/// More descriptors of directories than that are closed again.
const FOLDERS_MAX: usize = 256;

impl StepExecutor {
    /// What was made ahead counts for nothing.
    pub(super) fn reset_counters(&self) {
        [&self.operations, &self.written].into_iter().for_each(|count| count.store(0, Relaxed));
        lock_unpoisoned(&self.folders).clear();
    }

    /// Makes an input.
    pub(super) fn create_input(&self, path: &[u8], bytes: u64) -> Result<()> {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC;
        let open = |at: &OwnedFd, name: &Path| fs::openat(at, name, flags, Mode::from(0o666));
        let file = self.with_parent_directory(path, open).or_else(|_| {
            self.create_parents(path).and_then(|()| self.with_parent_directory(path, open))
        })?;
        let calls = bytes.div_ceil(1 << 20);
        self.write_bytes(&file, Transfer { bytes, calls, ..Transfer::default() })
    }

    /// Makes a directory and those above it.
    pub(super) fn create_directory(&self, path: &[u8]) -> Result<()> {
        self.create_parents(path)?;
        self.with_parent_directory(path, mkdir).or_else(accept_existing)
    }

    pub(super) fn create_parents(&self, path: &[u8]) -> Result<()> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.map(|end| &path[..end]).try_for_each(|folder| {
            self.with_parent_directory(folder, mkdir).or_else(accept_existing)
        })
    }

    /// Calls with the directory that a path leads to, and the name in it.
    pub(super) fn with_parent_directory<T>(
        &self,
        path: &[u8],
        call: impl Fn(&OwnedFd, &Path) -> Result<T>,
    ) -> Result<T> {
        let path = Path::new(OsStr::from_bytes(path));
        let name = Path::new(path.file_name().unwrap_or(OsStr::new(".")));
        match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            None => call(&self.root, name),
            Some(parent) => call(&*self.open_directory(parent)?, name),
        }
    }

    fn open_directory(&self, path: &Path) -> Result<Arc<OwnedFd>> {
        if let Some(known) = lock_unpoisoned(&self.folders).get(path) {
            return Ok(Arc::clone(known));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = Arc::new(fs::openat(&self.root, path, flags, Mode::empty())?);
        let mut folders = lock_unpoisoned(&self.folders);
        if folders.len() >= FOLDERS_MAX {
            folders.clear();
        }
        folders.insert(path.to_owned(), Arc::clone(&folder));
        Ok(folder)
    }
}
