//! How a replay gets to its directories, and what it makes there ahead.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_plan::replay::Moved;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Result;

use super::act::{Doer, own};
use super::names::{mkdir, there};

/// More descriptors of directories than that are closed again.
const FOLDERS_MAX: usize = 256;

impl Doer {
    /// What was made ahead counts for nothing.
    pub(super) fn forget(&self) {
        [&self.operations, &self.written].into_iter().for_each(|count| count.store(0, Relaxed));
        own(&self.folders).clear();
    }

    /// Makes an input.
    pub(super) fn input(&self, path: &[u8], bytes: u64) -> Result<()> {
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC;
        let open = |at: &OwnedFd, name: &Path| fs::openat(at, name, flags, Mode::from(0o666));
        let file = self
            .at(path, open)
            .or_else(|_| self.parents(path).and_then(|()| self.at(path, open)))?;
        let calls = bytes.div_ceil(1 << 20);
        self.put(&file, Moved { bytes, calls, ..Moved::default() })
    }

    /// Makes a directory and those above it.
    pub(super) fn folder(&self, path: &[u8]) -> Result<()> {
        self.parents(path)?;
        self.at(path, mkdir).or_else(there)
    }

    pub(super) fn parents(&self, path: &[u8]) -> Result<()> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.map(|end| &path[..end]).try_for_each(|folder| self.at(folder, mkdir).or_else(there))
    }

    /// Calls with the directory that a path leads to, and the name in it.
    pub(super) fn at<T>(
        &self,
        path: &[u8],
        call: impl Fn(&OwnedFd, &Path) -> Result<T>,
    ) -> Result<T> {
        let path = Path::new(OsStr::from_bytes(path));
        let name = Path::new(path.file_name().unwrap_or(OsStr::new(".")));
        match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            None => call(&self.root, name),
            Some(parent) => call(&*self.enter(parent)?, name),
        }
    }

    fn enter(&self, path: &Path) -> Result<Arc<OwnedFd>> {
        if let Some(known) = own(&self.folders).get(path) {
            return Ok(Arc::clone(known));
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = Arc::new(fs::openat(&self.root, path, flags, Mode::empty())?);
        let mut folders = own(&self.folders);
        if folders.len() >= FOLDERS_MAX {
            folders.clear();
        }
        folders.insert(path.to_owned(), Arc::clone(&folder));
        Ok(folder)
    }
}
