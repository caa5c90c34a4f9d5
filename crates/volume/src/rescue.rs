//! A small process beside a daemon, which holds nothing of the run. When the daemon dies in the middle
//! of its work, it ends the connections of the mounts: programs then get errors and do not wait for
//! ever (`overmount::abort` says why they would).
//!
//! The end of a process is told when its last thread is gone, which is what never comes here. The end
//! of a thread is told at once by a robust mutex that it holds (pthread_mutexattr_setrobust(3)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::process::Pid;

use crate::ipc::RESCUER;
use crate::notifications::answer_in_place;
use crate::overmount::{
    abort_connection, abort_in_namespace, open_abort, receive_descriptor, send_descriptor,
};
use forebay_os::forks::{block_signals, fork, socket_pair};

/// What lies in memory that this process shares with those that it forks from now on.
#[repr(C)]
struct SharedMemory {
    mutex: libc::pthread_mutex_t,
    /// The last call that the daemon took from a listener.
    last_call: AtomicU64,
}

/// A mutex in such memory.
struct LivenessMutex(*mut SharedMemory);

impl LivenessMutex {
    fn new() -> io::Result<LivenessMutex> {
        let size = size_of::<SharedMemory>();
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: fresh memory of zeroes, large and aligned enough, which is never unmapped.
        unsafe {
            let memory = libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0);
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let mut how = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut how);
            libc::pthread_mutexattr_setpshared(&mut how, libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_mutexattr_setrobust(&mut how, libc::PTHREAD_MUTEX_ROBUST);
            let shared: *mut SharedMemory = memory.cast();
            match libc::pthread_mutex_init(&raw mut (*shared).mutex, &how) {
                0 => Ok(LivenessMutex(shared)),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// Waits until nobody holds it; whether who held it died.
    fn acquire_lock(&self) -> bool {
        // SAFETY: an initialised mutex.
        unsafe { libc::pthread_mutex_lock(&raw mut (*self.0).mutex) == libc::EOWNERDEAD }
    }

    fn release_lock(&self) {
        // SAFETY: as above, held by this thread.
        unsafe { libc::pthread_mutex_unlock(&raw mut (*self.0).mutex) };
    }

    fn last_call(&self) -> &'static AtomicU64 {
        // SAFETY: the memory is never unmapped, and zeroes are a number.
        unsafe { &(*self.0).last_call }
    }
}

/// The way to a rescuer.
pub(crate) struct RescuerHandle {
    alive: LivenessMutex,
    door: OwnedFd,
}

impl std::fmt::Debug for RescuerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rescue").finish_non_exhaustive()
    }
}

/// Sent last, instead of the number of a mount.
const ALL: u32 = u32::MAX;
/// Sent with a listener, of whose calls nobody must wait for a dead daemon.
const LISTENER: u32 = u32::MAX - 1;

impl RescuerHandle {
    /// Starts a rescuer. This process has one thread, and holds little yet.
    pub(crate) fn start() -> io::Result<(RescuerHandle, Pid)> {
        let alive = LivenessMutex::new()?;
        let (door, inside) = socket_pair()?;
        // Like the daemon it ends by SIGKILL alone, or when it is no longer needed.
        let signals = block_signals();
        // SAFETY: this process has one thread, so the child may do anything.
        let forked = unsafe { fork() };
        match forked {
            Ok(None) => {
                drop(door);
                run_rescuer(&alive, &inside)
            }
            Ok(Some(rescuer)) => {
                signals.restore();
                Ok((RescuerHandle { alive, door }, rescuer))
            }
            Err(failure) => {
                signals.restore();
                Err(failure)
            }
        }
    }

    /// The daemon's main thread lives from now on, until it says that all ended well, or dies.
    pub(crate) fn guard_main_thread(&self) -> LivenessGuard<'_> {
        self.alive.acquire_lock();
        LivenessGuard(&self.alive)
    }

    /// A mount is to be ended with the daemon.
    pub(crate) fn register_mount(&self, device: u64) {
        let minor = libc::minor(device);
        let control = open_abort(minor).ok();
        let control = control.as_ref().map(AsFd::as_fd);
        // A rescuer that is gone rescues nobody; all else works.
        let _ = send_descriptor(self.door.as_fd(), minor, control);
    }

    /// Calls that wait at this listener are to be answered if the daemon dies.
    pub(crate) fn register_listener(&self, listener: BorrowedFd<'_>) {
        // As above.
        let _ = send_descriptor(self.door.as_fd(), LISTENER, Some(listener));
    }

    /// Where the daemon writes which call it took last.
    pub(crate) fn last_call(&self) -> &'static AtomicU64 {
        self.alive.last_call()
    }

    /// These are all.
    pub(crate) fn end_registration(&self) {
        // As above.
        let _ = send_descriptor(self.door.as_fd(), ALL, None);
    }
}

/// A daemon that lives.
pub(crate) struct LivenessGuard<'r>(&'r LivenessMutex);

impl LivenessGuard<'_> {
    /// Nobody is to be rescued: what was mounted is gone.
    pub(crate) fn finish_cleanly(self) {
        self.0.release_lock();
    }
}

/// The rescuer's life.
fn run_rescuer(alive: &LivenessMutex, inside: &OwnedFd) -> ! {
    detach_from_caller(inside);
    let mut known: Vec<(u32, Option<OwnedFd>)> = Vec::new();
    let mut listener = None;
    while let Ok((Some(minor), control)) = receive_descriptor(inside.as_fd()) {
        match minor {
            ALL => break,
            LISTENER => {
                listener = control;
                continue;
            }
            _ => {}
        }
        known.push((minor, control));
    }
    if let Some(listener) = listener {
        if alive.acquire_lock() {
            answer_in_place(listener, alive.last_call().load(Relaxed));
        }
    } else if !known.is_empty() && alive.acquire_lock() {
        let ended = |control: &OwnedFd| abort_connection(control).is_ok();
        known.retain(|(_, control)| !control.as_ref().is_some_and(ended));
        let others: Vec<u32> = known.into_iter().map(|(minor, _)| minor).collect();
        if !others.is_empty() {
            abort_in_namespace(&others);
        }
    }
    // SAFETY: ends the process without running what belongs to the parent.
    unsafe { libc::_exit(0) }
}

/// Keeps nothing of the caller's: no directory, no descriptor; who kills its group does not mean us.
fn detach_from_caller(inside: &OwnedFd) {
    let keep = inside.as_raw_fd();
    let keep = keep as libc::c_uint;
    // SAFETY: plain numbers; what is closed is nobody's here.
    unsafe {
        if keep > 0 {
            forebay_os::descriptors::close_descriptor_range(0, keep - 1);
        }
        forebay_os::descriptors::close_descriptor_range(keep + 1, libc::c_uint::MAX);
    }
    // Each is a wish: a group of its own, no directory kept busy, a name.
    let _ = rustix::process::setpgid(None, None);
    // As above.
    let _ = rustix::process::chdir("/");
    // As above.
    let _ = rustix::thread::set_name(RESCUER);
}
