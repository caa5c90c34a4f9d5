//! One step of a replay, done to the file system.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use forebay_plan::replay::{OpenMode, ReplayAction, ReplayScript};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::{Errno, Result};

use super::metadata_calls::{NOW, list_directory, look_up_name, mkdir, read_attributes};

/// Who does steps: in one directory, with all files that are open.
#[derive(Debug)]
pub(super) struct StepExecutor {
    pub(super) root: OwnedFd,
    sessions: Vec<Mutex<Option<OwnedFd>>>,
    /// Directories that were entered; paths are walked once.
    pub(super) folders: Mutex<HashMap<PathBuf, Arc<OwnedFd>>>,
    pub(super) seed: u64,
    pub(super) operations: AtomicU64,
    pub(super) read: AtomicU64,
    pub(super) written: AtomicU64,
}

pub(super) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StepExecutor {
    pub(super) fn new(root: OwnedFd, script: &ReplayScript, seed: u64) -> StepExecutor {
        let sessions = (0..script.sessions).map(|_| Mutex::new(None)).collect();
        let (operations, read, written) = Default::default();
        // As many as allowed: a run may have more files open at once than a shell usually lets one.
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
        let limit = rustix::process::Rlimit { current: most, maximum: most };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
        StepExecutor { root, sessions, folders: Mutex::default(), seed, operations, read, written }
    }

    /// Does it. What should be there and is not is an error that the caller may count.
    pub(super) fn perform_act(&self, act: &ReplayAction) -> Result<()> {
        self.operations.fetch_add(1, Relaxed);
        match act {
            ReplayAction::Open(session, path, how) => self.open_session(*session, path, *how),
            ReplayAction::Read(session, moved) => {
                self.with_session(*session, |file| self.read_bytes(file, *moved))
            }
            ReplayAction::Write(session, moved) => {
                self.with_session(*session, |file| self.write_bytes(file, *moved))
            }
            ReplayAction::Sync(session) => self.with_session(*session, |file| fs::fsync(file)),
            ReplayAction::Touch(session) => {
                self.with_session(*session, |file| fs::futimens(file, &NOW))
            }
            ReplayAction::Attributes(session) => {
                self.with_session(*session, |file| read_attributes(file, Path::new("")))
            }
            ReplayAction::Close(session, size) => {
                self.close_session(*session, size.map(|size| size.get()))
            }
            ReplayAction::AttributesOf(path) => self.with_parent_directory(path, read_attributes),
            ReplayAction::TouchOf(path) => self.with_parent_directory(path, |at, name| {
                fs::utimensat(at, name, &NOW, AtFlags::SYMLINK_NOFOLLOW)
            }),
            ReplayAction::Look(path) => self.with_parent_directory(path, look_up_name),
            ReplayAction::LookInVain(folder) => {
                let name = format!("forebay-absent-{}", self.operations.load(Relaxed));
                let path = [folder, b"/".as_slice(), name.as_bytes()].concat();
                self.with_parent_directory(&path, read_attributes).or(Ok(()))
            }
            ReplayAction::Access(path) => self.with_parent_directory(path, |at, name| {
                fs::accessat(at, name, fs::Access::READ_OK, AtFlags::empty())
            }),
            ReplayAction::List(path) => self.with_parent_directory(path, list_directory),
            ReplayAction::Mkdir(path) => self.with_parent_directory(path, mkdir),
            ReplayAction::Rmdir(path) => {
                let folder = Path::new(OsStr::from_bytes(path));
                lock_unpoisoned(&self.folders).retain(|known, _| !known.starts_with(folder));
                self.with_parent_directory(path, |at, name| {
                    fs::unlinkat(at, name, AtFlags::REMOVEDIR)
                })
            }
            ReplayAction::Unlink(path) => self
                .with_parent_directory(path, |at, name| fs::unlinkat(at, name, AtFlags::empty())),
            ReplayAction::Rename(from, to) => self.with_parent_directory(from, |at, name| {
                self.with_parent_directory(to, |other, new| fs::renameat(at, name, other, new))
            }),
            ReplayAction::Start(_) | ReplayAction::Join(_) | ReplayAction::Pause => Ok(()),
        }
    }

    fn open_session(&self, session: usize, path: &[u8], how: OpenMode) -> Result<()> {
        let mut flags = match (how.read, how.write) {
            (_, false) => OFlags::RDONLY,
            (false, true) => OFlags::WRONLY,
            (true, true) => OFlags::RDWR,
        };
        flags |= OFlags::CLOEXEC | OFlags::NOFOLLOW;
        if how.create {
            flags |= OFlags::CREATE;
        }
        if how.create || how.truncate {
            flags |= OFlags::TRUNC;
        }
        let open = |at: &OwnedFd, name: &Path| fs::openat(at, name, flags, Mode::from(0o666));
        let file = match self.with_parent_directory(path, open) {
            // Its directory is made by somebody who has not come so far.
            Err(Errno::NOENT) if how.create => {
                self.create_parents(path).and_then(|()| self.with_parent_directory(path, open))
            }
            done => done,
        }?;
        *lock_unpoisoned(&self.sessions[session]) = Some(file);
        Ok(())
    }

    /// What could not be opened has been counted, and nothing is done with it.
    fn with_session(
        &self,
        session: usize,
        call: impl FnOnce(&OwnedFd) -> Result<()>,
    ) -> Result<()> {
        lock_unpoisoned(&self.sessions[session]).as_ref().map_or(Ok(()), call)
    }

    fn close_session(&self, session: usize, size: Option<u64>) -> Result<()> {
        let Some(file) = lock_unpoisoned(&self.sessions[session]).take() else { return Ok(()) };
        size.map_or(Ok(()), |size| fs::ftruncate(&file, size))
    }
}
