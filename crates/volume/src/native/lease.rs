//! Whether anybody has a file open or mapped, inside, outside or past us: a lease (fcntl(2),
//! `F_SETLEASE`) is granted only if nobody has, and the kernel says when somebody is about to.
//!
//! What we know of opens is not enough: a mapping made in passthrough outlives the last close that
//! we are told of, and who is outside tells us nothing.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

const SETLEASE: libc::c_int = libc::F_SETLEASE;
const GETLEASE: libc::c_int = libc::F_GETLEASE;
/// `F_SETSIG`, which not all C libraries name.
const SETSIG: libc::c_int = 10;

/// What came of asking for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseOutcome {
    /// Nobody else has the file open.
    Alone,
    /// Somebody has.
    Busy,
    /// This file system has none, or not for us.
    Unknown,
}

/// Asks to be told before anybody opens the file; refused if somebody has it open already.
pub(super) fn try_write_lease(file: BorrowedFd<'_>) -> LeaseOutcome {
    // A lease that breaks is looked for. Its signal is one that nobody minds: the usual one would end
    // a process that knows nothing of it.
    // SAFETY: plain numbers and a live descriptor.
    if unsafe { libc::fcntl(file.as_raw_fd(), SETSIG, libc::SIGURG) } != 0 {
        return LeaseOutcome::Unknown;
    }
    match set_lease(file, libc::F_WRLCK) {
        Ok(()) => LeaseOutcome::Alone,
        Err(Errno::AGAIN) => LeaseOutcome::Busy,
        Err(_) => LeaseOutcome::Unknown,
    }
}

/// Readers may come; writers wait for us, and are seen.
pub(super) fn downgrade_lease(file: BorrowedFd<'_>) {
    // Without: readers wait for us, too.
    let _ = set_lease(file, libc::F_RDLCK);
}

/// Whether nobody waits to write.
pub(super) fn is_lease_kept(file: BorrowedFd<'_>) -> bool {
    // SAFETY: a live descriptor; no third argument.
    let lease = unsafe { libc::fcntl(file.as_raw_fd(), GETLEASE) };
    lease != libc::F_UNLCK
}

/// Whoever waits may go on.
pub(super) fn release_lease(file: BorrowedFd<'_>) {
    // If it can't be given up it is broken: who waits goes on when the kernel's patience ends.
    let _ = set_lease(file, libc::F_UNLCK);
}

fn set_lease(file: BorrowedFd<'_>, kind: libc::c_int) -> Result<(), Errno> {
    // SAFETY: plain numbers and a live descriptor.
    match unsafe { libc::fcntl(file.as_raw_fd(), SETLEASE, kind) } {
        0 => Ok(()),
        _ => {
            let error = std::io::Error::last_os_error();
            Err(Errno::from_io_error(&error).unwrap_or(Errno::IO))
        }
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, a file is moved under the hands of whoever writes it through a mapping.
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn who_has_a_file_open_or_mapped_is_seen() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("f");
        std::fs::write(&path, [1; 100]).expect("written");
        let file = std::fs::File::open(&path).expect("opens");
        let other = std::fs::File::options().read(true).write(true).open(&path).expect("opens");
        if try_write_lease(file.as_fd()) == LeaseOutcome::Unknown {
            return;
        }
        // SAFETY: a fresh mapping of one page, which nobody else uses.
        let page = unsafe {
            let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
            libc::mmap(std::ptr::null_mut(), 4096, prot, flags, other.as_raw_fd(), 0)
        };
        assert_eq!(try_write_lease(file.as_fd()), LeaseOutcome::Busy);
        drop(other);
        assert_eq!(try_write_lease(file.as_fd()), LeaseOutcome::Busy, "it is mapped still");
        // SAFETY: the mapping made above.
        unsafe { libc::munmap(page, 4096) };
        assert_eq!(try_write_lease(file.as_fd()), LeaseOutcome::Alone);
        downgrade_lease(file.as_fd());
        let reader = std::fs::File::open(&path).expect("readers may come");
        assert_eq!(try_write_lease(file.as_fd()), LeaseOutcome::Busy);
        drop(reader);
        assert!(is_lease_kept(file.as_fd()));
        let write = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
        let mode = rustix::fs::Mode::empty();
        assert_eq!(rustix::fs::open(&path, write, mode).err(), Some(Errno::AGAIN));
        assert!(!is_lease_kept(file.as_fd()), "a writer waits");
        release_lease(file.as_fd());
        assert!(rustix::fs::open(&path, write, mode).is_ok());
    }
}
