//! Working files: where the bytes of an open packed file are. They lie on the tier, so a kill loses
//! none of them, and they are used again and again, since making a file is what packing saves.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use rustix::fs::{
    AtFlags, Dir, MemfdFlags, Mode, OFlags, fchmod, ftruncate, memfd_create, openat, unlinkat,
};
use rustix::io::Errno;

use forebay_os::file_identity::reopen_with_flags;

/// Idle ones that are kept.
const MOST_IDLE: usize = 64;
const OPEN: Mode = Mode::from_raw_mode(0o666);
const PREFIX: &[u8] = b"work.";

/// A working file, open for reading and writing.
#[derive(Debug)]
pub struct WorkingFile {
    pub(super) number: u64,
    /// Its bytes.
    pub file: OwnedFd,
    /// Its mode may be another than that of a new one.
    pub mode_changed: bool,
}

impl WorkingFile {
    /// One that nobody may write to, for it would not outlive a kill.
    pub(super) fn in_memory() -> Result<WorkingFile, Errno> {
        let file = memfd_create(c"forebay", MemfdFlags::CLOEXEC)?;
        fchmod(&file, OPEN)?;
        Ok(WorkingFile { number: 0, file, mode_changed: false })
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.number == 0
    }
}

/// All working files of a pack.
#[derive(Debug)]
pub(super) struct WorkingFiles {
    root: OwnedFd,
    idle: Mutex<Vec<WorkingFile>>,
    next: AtomicU64,
}

const FLAGS: OFlags = OFlags::RDWR.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn working_file_name(number: u64) -> CString {
    CString::new(format!("work.{number:x}")).expect("digits hold no NUL")
}

impl WorkingFiles {
    /// Working files in the directory `root`, from number `next` on.
    pub(super) fn new(root: OwnedFd, next: u64) -> WorkingFiles {
        WorkingFiles { root, idle: Mutex::default(), next: AtomicU64::new(next) }
    }

    /// An empty one.
    pub(super) fn take_empty(&self) -> Result<WorkingFile, Errno> {
        if let Some(work) = self.idle.lock().pop() {
            return Ok(work);
        }
        loop {
            let number = self.next.fetch_add(1, Relaxed);
            let flags = FLAGS | OFlags::CREATE | OFlags::EXCL;
            match openat(&self.root, working_file_name(number), flags, Mode::empty()) {
                // One that a killed run had taken for reading only.
                Err(Errno::EXIST) => {}
                made => {
                    let file = made?;
                    // Whoever a worker acts as may open it again; the directory keeps others out.
                    fchmod(&file, OPEN)?;
                    return Ok(WorkingFile { number, file, mode_changed: false });
                }
            }
        }
    }

    /// Gives one back that nobody has open any more.
    pub(super) fn give_back(&self, work: WorkingFile) {
        if work.is_in_memory() {
            return;
        }
        let mode = || match work.mode_changed {
            true => fchmod(&work.file, OPEN),
            false => Ok(()),
        };
        let clean = ftruncate(&work.file, 0).and_then(|()| mode()).is_ok();
        let mut idle = self.idle.lock();
        if idle.len() < MOST_IDLE && clean {
            idle.push(WorkingFile { mode_changed: false, ..work });
        } else {
            drop(idle);
            self.remove(work.number);
        }
    }

    /// Opens one again, with other flags, by its name: a way through `/proc` is a longer one.
    pub(super) fn reopen(&self, work: &WorkingFile, flags: OFlags) -> Result<OwnedFd, Errno> {
        let how = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match work.is_in_memory() {
            true => Err(Errno::NOENT),
            false => openat(&self.root, working_file_name(work.number), how, Mode::empty()),
        }
        .or_else(|_| reopen_with_flags(work.file.as_fd(), flags))
    }

    /// Removes the idle ones.
    pub(super) fn drop_idle(&self) {
        for work in std::mem::take(&mut *self.idle.lock()) {
            self.remove(work.number);
        }
    }

    pub(super) fn open(&self, number: u64) -> Result<WorkingFile, Errno> {
        openat(&self.root, working_file_name(number), FLAGS, Mode::empty())
            .map(|file| WorkingFile { number, file, mode_changed: true })
    }

    pub(super) fn stat(&self, number: u64) -> Option<rustix::fs::Statx> {
        forebay_os::file_identity::statx_nofollow(
            std::os::fd::AsFd::as_fd(&self.root),
            &working_file_name(number),
        )
        .ok()
    }

    pub(super) fn remove(&self, number: u64) {
        let _ = unlinkat(&self.root, working_file_name(number), AtFlags::empty());
    }

    /// Makes the names of working files safe from power failure.
    pub(super) fn sync_names(&self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.root)
    }

    /// Removes all but some: what a killed run had in use.
    pub(super) fn remove_all_except(&self, used: &BTreeSet<u64>) -> Result<(), Errno> {
        self.idle.lock().clear();
        for entry in Dir::read_from(&self.root)? {
            let entry = entry?;
            let Some(digits) = entry.file_name().to_bytes().strip_prefix(PREFIX) else { continue };
            let number = std::str::from_utf8(digits).ok().map(|text| u64::from_str_radix(text, 16));
            if let Some(Ok(number)) = number
                && !used.contains(&number)
            {
                self.remove(number);
            }
        }
        Ok(())
    }
}

/// Fills a new one.
pub(super) fn write_content(work: &WorkingFile, content: &[u8]) -> Result<(), Errno> {
    let mut done = 0;
    while done < content.len() {
        match rustix::io::pwrite(&work.file, &content[done..], done as u64) {
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
