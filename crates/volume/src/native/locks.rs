//! Locks that hold against the world: byte-range (fcntl) and whole-file (flock) locks are taken on
//! the backing file, so that programs inside and outside the covered directory exclude each other.
//!
//! One inside process is one *owner*. The daemon is a single process to the kernel, so an owner's
//! byte-range locks live on an open file description of its own (`F_OFD_SETLK`, fcntl(2)), which
//! conflicts with other owners' and with traditional locks alike.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::node::HandleFile;
use super::{FileHandle, IoState, Kernel, Native, Result};
use forebay_os::file_identity::reopen_with_flags;

/// The kernel tells of the last close after close(2) has returned. So often a lock is asked for again
/// whose holder may be about to go, and so long after the last time: `flock f a; flock -n f b` works as
/// it does bare.
const LOOKS: u32 = 40;
const BETWEEN_LOOKS: Duration = Duration::from_micros(500);

/// A lock as asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdvisoryLock {
    /// First byte.
    pub start: u64,
    /// Last byte, `i64::MAX` for the end of the file.
    pub end: u64,
    /// `F_RDLCK`, `F_WRLCK` or `F_UNLCK`.
    pub kind: i32,
    /// The process that asks, or that holds it.
    pub pid: u32,
    /// The inside process, as one number for all its threads and descriptors.
    pub owner: u64,
    /// A BSD lock on the whole file, belonging to the open handle.
    pub flock: bool,
}

#[derive(Debug)]
struct OwnerFile {
    file: Arc<OwnedFd>,
    pid: u32,
}

/// Byte-range locks of inside processes, by node and owner.
#[derive(Debug, Default)]
pub(crate) struct PosixLocks(Mutex<FxHashMap<(u64, u64), OwnerFile>>);

impl PosixLocks {
    /// Ends all locks of `owner` on a node: closing the description drops them.
    pub(crate) fn drop_owner_locks(&self, node: u64, owner: u64) {
        let held = self.0.lock().remove(&(node, owner));
        drop(held);
    }

    /// Ends all locks on a file that nobody has open any more.
    pub(crate) fn drop_node_locks(&self, node: u64) {
        let mut all = self.0.lock();
        if all.keys().any(|(of, _)| *of == node) {
            all.retain(|(of, _), _| *of != node);
        }
    }

    /// Whether anybody holds, or held, a lock on a node.
    pub(crate) fn has_locks(&self, node: u64) -> bool {
        self.0.lock().keys().any(|(of, _)| *of == node)
    }

    /// Ends the locks of processes that are gone without a close that was told.
    pub(crate) fn drop_dead_owner_locks(&self) {
        // SAFETY: signal 0 only asks whether the process is there.
        let gone = |pid: u32| unsafe { libc::kill(pid as i32, 0) } != 0
            && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
        self.0.lock().retain(|_, held| held.pid == 0 || !gone(held.pid));
    }

    fn open_file_for_owner(
        &self,
        handle: &FileHandle,
        lock: &AdvisoryLock,
    ) -> Result<Arc<OwnedFd>> {
        let key = (handle.node.id, lock.owner);
        if let Some(held) = self.0.lock().get(&key) {
            return Ok(Arc::clone(&held.file));
        }
        let file = Arc::new(open_for_locks(handle)?);
        let mut all = self.0.lock();
        let held = all.entry(key).or_insert(OwnerFile { file, pid: lock.pid });
        Ok(Arc::clone(&held.file))
    }

    /// The inside process that holds a lock which the kernel reports as ours.
    fn pid_of_other(&self, node: u64, owner: u64) -> u32 {
        let all = self.0.lock();
        all.iter().find(|((n, o), _)| *n == node && *o != owner).map_or(0, |(_, held)| held.pid)
    }
}

/// A description that can hold read and write locks, or at least those its handle may take.
fn open_for_locks(handle: &FileHandle) -> Result<OwnedFd> {
    let file = handle.own_file();
    reopen_with_flags(file.as_fd(), OFlags::RDWR | OFlags::NONBLOCK).or_else(|_| {
        let mode = rustix::fs::fcntl_getfl(file)? & OFlags::ACCMODE;
        reopen_with_flags(file.as_fd(), mode | OFlags::NONBLOCK)
    })
}

/// What came of asking for a lock.
#[derive(Debug)]
pub enum LockOutcome {
    /// It is held, or given up.
    Done,
    /// Somebody else holds it: wait with `PendingLock::wait_for_lock` on a thread that may sleep.
    Later(PendingLock),
}

/// A lock to wait for.
#[derive(Debug)]
pub struct PendingLock {
    file: Arc<OwnedFd>,
    handle: Arc<FileHandle>,
    lock: AdvisoryLock,
    sleep: bool,
    pages: Arc<super::mapped_pages::MappedPages>,
}

impl PendingLock {
    /// Sleeps until the lock is held. A signal to this thread ends the wait, if that is meant.
    ///
    /// Without passthrough a mapped file has pages of its own in the kernel. A lock is the moment
    /// at which programs (SQLite's shared index among them) rely on seeing each other's, so what
    /// was written goes down before a lock is given up, and what was cached goes after one is had.
    ///
    /// # Errors
    /// EINTR after a signal that is meant; EAGAIN when it was not to sleep.
    pub(crate) fn wait_for_lock(
        self,
        device: Option<&dyn Kernel>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<()> {
        let unlocks = self.lock.kind == libc::F_UNLCK;
        let mapped = device.filter(|_| self.handle.state != IoState::Passthrough);
        let bring = || {
            if let Some(device) = mapped {
                self.pages.begin_invalidation(self.handle.node.id);
                device.invalidate_node(self.handle.node.id, true);
                self.pages.end_invalidation(self.handle.node.id);
            }
        };
        if unlocks {
            bring();
        }
        loop {
            match self.take_with_grace() {
                // Left over from a wait before this one.
                Err(Errno::INTR) if !is_interrupted() => {}
                taken => break taken?,
            }
        }
        if !unlocks {
            bring();
        }
        Ok(())
    }

    fn take_with_grace(&self) -> Result<()> {
        let mut looks = LOOKS;
        loop {
            // Asked first: who has gone since has let its locks go.
            let may_go = looks > 0 && holder_may_be_closing(&self.handle);
            match self.try_take() {
                Err(Errno::AGAIN | Errno::ACCESS) if self.sleep => return self.take_blocking(),
                Err(Errno::AGAIN | Errno::ACCESS) if may_go => {
                    looks -= 1;
                    std::thread::sleep(BETWEEN_LOOKS);
                }
                other => return other,
            }
        }
    }

    fn try_take(&self) -> Result<()> {
        if !self.lock.flock {
            return set_range_lock(&self.file, &self.lock, libc::F_OFD_SETLK);
        }
        set_flock(&self.file, self.lock.kind, true)?;
        self.note_flock_state();
        Ok(())
    }

    fn take_blocking(&self) -> Result<()> {
        if !self.lock.flock {
            return set_range_lock(&self.file, &self.lock, libc::F_OFD_SETLKW);
        }
        set_flock(&self.file, self.lock.kind, false)?;
        self.note_flock_state();
        Ok(())
    }

    fn note_flock_state(&self) {
        self.handle.flocked.store(self.lock.kind != libc::F_UNLCK, Relaxed);
        self.handle.closing.store(false, Relaxed);
    }
}

impl Native {
    /// Who would stand in the way of a lock; `F_UNLCK` when nobody.
    ///
    /// # Errors
    /// The backing file system's.
    pub fn getlk(&self, fh: u64, lock: AdvisoryLock) -> Result<AdvisoryLock> {
        let handle = self.handle(fh)?;
        handle.node.locked.store(true, Relaxed);
        self.ensure_file_to_lock(&handle)?;
        let file = self.posix_locks.open_file_for_owner(&handle, &lock)?;
        let mut looks = LOOKS;
        let raw = loop {
            // Asked first: who has gone since has let its locks go.
            let may_go = looks > 0 && holder_may_be_closing(&handle);
            let raw = find_conflict(&file, &lock)?;
            if raw.l_type == libc::F_UNLCK as i16 || !may_go {
                break raw;
            }
            looks -= 1;
            std::thread::sleep(BETWEEN_LOOKS);
        };
        let end =
            if raw.l_len == 0 { i64::MAX as u64 } else { (raw.l_start + raw.l_len - 1) as u64 };
        let pid = match raw.l_pid {
            // An open file description holds it: one of ours, as far as we can tell.
            -1 => self.posix_locks.pid_of_other(handle.node.id, lock.owner),
            pid => pid as u32,
        };
        Ok(AdvisoryLock {
            start: raw.l_start as u64,
            end,
            kind: i32::from(raw.l_type),
            pid,
            ..lock
        })
    }

    /// A file that was read from the log so far gets one of its own.
    fn ensure_file_to_lock(&self, handle: &FileHandle) -> Result<()> {
        match handle.kind {
            HandleFile::Log => self.ensure_opened(handle).map(drop),
            HandleFile::Open | HandleFile::Path => Ok(()),
        }
    }

    /// Takes or gives up a lock; does not sleep.
    ///
    /// # Errors
    /// EAGAIN when somebody else holds it and `sleep` is false.
    pub fn setlk(&self, fh: u64, lock: AdvisoryLock, sleep: bool) -> Result<LockOutcome> {
        let handle = self.handle(fh)?;
        let file = if lock.flock {
            // The same description as the handle's, which owns the lock.
            Arc::new(rustix::io::fcntl_dupfd_cloexec(self.ensure_opened(&handle)?, 0)?)
        } else {
            handle.node.locked.store(true, Relaxed);
            self.ensure_file_to_lock(&handle)?;
            handle.note_lock_owner(lock.owner);
            handle.closing.store(false, Relaxed);
            self.posix_locks.open_file_for_owner(&handle, &lock)?
        };
        let waiting = PendingLock { file, handle, lock, sleep, pages: Arc::clone(&self.pages) };
        if waiting.handle.state != IoState::Passthrough {
            // Pages may have to go down or up, which takes another worker.
            return Ok(LockOutcome::Later(waiting));
        }
        match waiting.try_take() {
            Ok(()) => Ok(LockOutcome::Done),
            Err(Errno::AGAIN | Errno::ACCESS)
                if sleep || holder_may_be_closing(&waiting.handle) =>
            {
                Ok(LockOutcome::Later(waiting))
            }
            // Its holder may have gone in between.
            Err(Errno::AGAIN | Errno::ACCESS) => waiting.try_take().map(|()| LockOutcome::Done),
            Err(error) => Err(error),
        }
    }
}

impl FileHandle {
    /// Whoever lets go of another handle of the file sees this from now on.
    fn note_lock_owner(&self, owner: u64) {
        let _handles = self.node.open.lock();
        let mut lockers = self.lockers.lock();
        if !lockers.contains(&owner) {
            lockers.push(owner);
        }
    }
}

impl FileHandle {
    /// The last copy of the descriptor is closed, so its BSD lock ends. Closing the backing file does
    /// not see to that: the kernel holds it as well, for passthrough, as long as anybody has the file
    /// open, and so may another request.
    pub(super) fn release_flock(&self) {
        if self.flocked.load(Relaxed)
            && let Err(error) = set_flock(self.own_file(), libc::F_UNLCK, true)
        {
            tracing::error!("a lock of a closed file could not be given up: {error}");
        }
    }
}

impl Native {
    /// A process has closed a descriptor of the file, so its byte-range locks end (POSIX). What it
    /// locks from now on is not ended by the last close of this handle, which the kernel tells in
    /// its own time.
    pub(super) fn release_owner_locks(&self, handle: &FileHandle, owner: u64) {
        if !handle.node.locked.load(Relaxed) {
            return;
        }
        let open = handle.node.open.lock();
        for other in &open.handles {
            other.lockers.lock().retain(|one| *one != owner);
        }
        self.posix_locks.drop_owner_locks(handle.node.id, owner);
    }

    /// A handle is no more, and locks of its that no close has ended are given up; but not those of
    /// an owner who has locked through another one of `handles`: of a lock that belongs to an open
    /// file description the kernel says its address, which a later one may have.
    pub(super) fn release_leftover_locks(&self, handle: &FileHandle, handles: &[Arc<FileHandle>]) {
        for owner in handle.lockers.lock().drain(..) {
            if !handles.iter().any(|other| other.lockers.lock().contains(&owner)) {
                self.posix_locks.drop_owner_locks(handle.node.id, owner);
            }
        }
    }
}

/// Closes are not told until the last, unless the file had locks before it was opened.
fn holder_may_be_closing(handle: &Arc<FileHandle>) -> bool {
    let open = handle.node.open.lock();
    open.handles.iter().any(|other| {
        let locks = other.flocked.load(Relaxed) || !other.lockers.lock().is_empty();
        let told = !other.quiet && !other.closing.load(Relaxed);
        locks && !told && !Arc::ptr_eq(other, handle)
    })
}

fn set_flock(file: &OwnedFd, kind: i32, now: bool) -> Result<()> {
    let what = match kind {
        libc::F_RDLCK => libc::LOCK_SH,
        libc::F_WRLCK => libc::LOCK_EX,
        _ => libc::LOCK_UN,
    };
    let how = if now { what | libc::LOCK_NB } else { what };
    // SAFETY: plain numbers.
    check_syscall(unsafe { libc::flock(file.as_raw_fd(), how) })
}

fn set_range_lock(file: &OwnedFd, lock: &AdvisoryLock, command: i32) -> Result<()> {
    let raw = to_libc_flock(lock);
    // SAFETY: the struct outlives the call.
    check_syscall(unsafe { libc::fcntl(file.as_raw_fd(), command, &raw) })
}

/// Who would stand in the way of a lock on `file`, as the kernel says it.
fn find_conflict(file: &OwnedFd, lock: &AdvisoryLock) -> Result<libc::flock> {
    let mut raw = to_libc_flock(lock);
    // SAFETY: the struct outlives the call.
    check_syscall(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut raw) })?;
    Ok(raw)
}

fn to_libc_flock(lock: &AdvisoryLock) -> libc::flock {
    let end = lock.end.min(i64::MAX as u64);
    libc::flock {
        l_type: lock.kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: lock.start as i64,
        // 0 means to the end of the file, however long it grows.
        l_len: if end == i64::MAX as u64 { 0 } else { (end - lock.start + 1) as i64 },
        l_pid: 0,
    }
}

fn check_syscall(done: i32) -> Result<()> {
    match done {
        0.. => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
