//! One step of a replay, done to the file system.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use forebay_plan::replay::{Act, How, Moved, Script};
use rustix::fs::{self, AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::{Errno, Result};

use super::noise::Noise;

/// Who does steps: in one directory, with all files that are open.
#[derive(Debug)]
pub(super) struct Doer {
    pub(super) root: OwnedFd,
    sessions: Vec<Mutex<Option<OwnedFd>>>,
    /// Directories that were entered; paths are walked once.
    folders: Mutex<HashMap<PathBuf, Arc<OwnedFd>>>,
    seed: u64,
    pub(super) operations: AtomicU64,
    pub(super) read: AtomicU64,
    pub(super) written: AtomicU64,
}

/// More descriptors of directories than that are closed again.
const FOLDERS_MAX: usize = 256;
/// No call moves more.
const CALL_BYTES_MAX: u64 = 4 << 20;
/// A file in no directory of any replay: a link to it is refused after the new name was looked up.
const ELSEWHERE: &str = "/proc/version";

fn own<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Doer {
    pub(super) fn new(root: OwnedFd, script: &Script, seed: u64) -> Doer {
        let sessions = (0..script.sessions).map(|_| Mutex::new(None)).collect();
        let (operations, read, written) = Default::default();
        // As many as allowed: a run may have more files open at once than a shell usually lets one.
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
        let limit = rustix::process::Rlimit { current: most, maximum: most };
        let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
        Doer { root, sessions, folders: Mutex::default(), seed, operations, read, written }
    }

    /// Does it. What should be there and is not is an error that the caller may count.
    pub(super) fn act(&self, act: &Act) -> Result<()> {
        self.operations.fetch_add(1, Relaxed);
        match act {
            Act::Open(session, path, how) => self.open(*session, path, *how),
            Act::Read(session, moved) => self.with(*session, |file| self.take(file, *moved)),
            Act::Write(session, moved) => self.with(*session, |file| self.put(file, *moved)),
            Act::Sync(session) => self.with(*session, |file| fs::fsync(file)),
            Act::Touch(session) => self.with(*session, |file| fs::futimens(file, &NOW)),
            Act::Attributes(session) => self.with(*session, |file| look(file, Path::new(""))),
            Act::Close(session, size) => self.close(*session, size.map(|size| size.get())),
            Act::AttributesOf(path) => self.at(path, look),
            Act::TouchOf(path) => {
                self.at(path, |at, name| fs::utimensat(at, name, &NOW, AtFlags::SYMLINK_NOFOLLOW))
            }
            Act::Look(path) => self.at(path, look_up),
            Act::LookInVain(folder) => {
                let name = format!("forebay-absent-{}", self.operations.load(Relaxed));
                let path = [folder, b"/".as_slice(), name.as_bytes()].concat();
                self.at(&path, look).or(Ok(()))
            }
            Act::Access(path) => self
                .at(path, |at, name| fs::accessat(at, name, fs::Access::READ_OK, AtFlags::empty())),
            Act::List(path) => self.at(path, list),
            Act::Mkdir(path) => self.at(path, mkdir),
            Act::Rmdir(path) => {
                let folder = Path::new(OsStr::from_bytes(path));
                own(&self.folders).retain(|known, _| !known.starts_with(folder));
                self.at(path, |at, name| fs::unlinkat(at, name, AtFlags::REMOVEDIR))
            }
            Act::Unlink(path) => self.at(path, |at, name| fs::unlinkat(at, name, AtFlags::empty())),
            Act::Rename(from, to) => self
                .at(from, |at, name| self.at(to, |other, new| fs::renameat(at, name, other, new))),
            Act::Start(_) | Act::Join(_) | Act::Pause => Ok(()),
        }
    }

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

    fn parents(&self, path: &[u8]) -> Result<()> {
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

    fn open(&self, session: usize, path: &[u8], how: How) -> Result<()> {
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
        let file = match self.at(path, open) {
            // Its directory is made by somebody who has not come so far.
            Err(Errno::NOENT) if how.create => {
                self.parents(path).and_then(|()| self.at(path, open))
            }
            done => done,
        }?;
        *own(&self.sessions[session]) = Some(file);
        Ok(())
    }

    /// What could not be opened has been counted, and nothing is done with it.
    fn with(&self, session: usize, call: impl FnOnce(&OwnedFd) -> Result<()>) -> Result<()> {
        own(&self.sessions[session]).as_ref().map_or(Ok(()), call)
    }

    fn close(&self, session: usize, size: Option<u64>) -> Result<()> {
        let Some(file) = own(&self.sessions[session]).take() else { return Ok(()) };
        size.map_or(Ok(()), |size| fs::ftruncate(&file, size))
    }

    fn take(&self, file: &OwnedFd, moved: Moved) -> Result<()> {
        let mut buffer = Vec::new();
        each_call(moved, self.seed, |offset, length| {
            self.operations.fetch_add(1, Relaxed);
            // Without bytes it is one that finds the end.
            buffer.resize(length.max(1), 0);
            let mut done = rustix::io::pread(file, &mut buffer[..], offset)?;
            if done == 0 && length > 0 && offset > 0 {
                // Shorter than it was: from the beginning again.
                done = rustix::io::pread(file, &mut buffer[..], 0)?;
            }
            self.read.fetch_add(done as u64, Relaxed);
            Ok(())
        })
    }

    fn put(&self, file: &OwnedFd, moved: Moved) -> Result<()> {
        let mut buffer = Vec::new();
        each_call(moved, self.seed, |mut offset, length| {
            buffer.resize(length, 0);
            Noise::new(self.seed, self.written.load(Relaxed) ^ offset << 20).fill(&mut buffer);
            let mut left = &buffer[..];
            while !left.is_empty() {
                let done = rustix::io::pwrite(file, left, offset)?;
                (left, offset) = (&left[done..], offset + done as u64);
            }
            self.operations.fetch_add(1, Relaxed);
            self.written.fetch_add(length as u64, Relaxed);
            Ok(())
        })
    }
}

/// The offset and length of each call.
fn each_call(
    moved: Moved,
    seed: u64,
    mut call: impl FnMut(u64, usize) -> Result<()>,
) -> Result<()> {
    let end = moved.end.unwrap_or(u64::MAX);
    let size = moved.bytes.div_ceil(moved.calls.max(1)).clamp(1, CALL_BYTES_MAX.min(end.max(1)));
    let mut noise = Noise::new(seed, moved.bytes ^ moved.from);
    let (mut offset, mut left, mut calls) = (moved.from, moved.bytes, 0);
    while left > 0 {
        let length = size.min(left);
        if moved.random && moved.end.is_some() {
            offset = noise.next() % (end - length + 1) / 4096 * 4096;
        } else if offset.saturating_add(length) > end {
            offset = 0;
        }
        call(offset, length as usize)?;
        (offset, left, calls) = (offset + length, left - length, calls + 1);
    }
    // Those that moved nothing.
    (calls..moved.calls).try_for_each(|_| call(moved.end.unwrap_or(offset), 0))
}

const NOW: fs::Timestamps = fs::Timestamps {
    last_access: fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW as _ },
    last_modification: fs::Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW as _ },
};

/// Attributes, past the caches: what is replayed had come to storage in the run.
fn look(at: &OwnedFd, name: &Path) -> Result<()> {
    let how = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC | AtFlags::SYMLINK_NOFOLLOW;
    fs::statx(at, name, how, StatxFlags::BASIC_STATS).map(drop)
}

/// A look at a name, past the kernel's cache of names where a file system allows it: a new link is
/// asked for, which can't be made.
fn look_up(at: &OwnedFd, name: &Path) -> Result<()> {
    match fs::linkat(fs::CWD, ELSEWHERE, at, name, AtFlags::empty()) {
        Err(Errno::EXIST | Errno::XDEV) => Ok(()),
        _ => look(at, name),
    }
}

fn list(at: &OwnedFd, name: &Path) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let folder = fs::openat(at, name, flags, Mode::empty())?;
    fs::Dir::new(folder)?.try_for_each(|entry| entry.map(drop))
}

fn mkdir(at: &OwnedFd, name: &Path) -> Result<()> {
    fs::mkdirat(at, name, Mode::from(0o777))
}

fn there(error: Errno) -> Result<()> {
    if error == Errno::EXIST { Ok(()) } else { Err(error) }
}
