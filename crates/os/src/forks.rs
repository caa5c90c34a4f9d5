//! Making processes: what parent and child share, and the signals between.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Pid;

/// The signal mask that the caller had.
#[derive(Debug)]
pub struct SavedSignalMask {
    mask: libc::sigset_t,
}

/// Holds all signals back, so that none is lost while processes are made.
pub fn block_signals() -> SavedSignalMask {
    let mut all = MaybeUninit::uninit();
    let mut mask = MaybeUninit::uninit();
    // SAFETY: both sets are filled by the calls.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), mask.as_mut_ptr());
        SavedSignalMask { mask: mask.assume_init() }
    }
}

impl SavedSignalMask {
    /// Lets signals through as the caller would have.
    pub fn restore(&self) {
        // SAFETY: the mask came from the system.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.mask, std::ptr::null_mut()) };
    }

    /// Gives the command what the caller would have given it. SIGPIPE is ignored in Rust programs.
    pub fn restore_for_command(&self) {
        // SAFETY: a valid mask and a default action.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::sigprocmask(libc::SIG_SETMASK, &self.mask, std::ptr::null_mut());
        }
    }
}

/// Two ends of a socket that keeps packets apart.
///
/// # Errors
/// Those of socketpair(2).
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// The child's number in the parent, nothing in the child.
///
/// # Errors
/// Those of fork(2).
///
/// # Safety
/// The caller has one thread: of others the child would have what they held, and not them.
pub unsafe fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the caller has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}
