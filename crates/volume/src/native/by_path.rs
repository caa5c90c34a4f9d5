//! Files that the kernel alone opens: it is lent the way to a file (`O_PATH`), opens it for each who
//! reads it, and passes reads on. An open of our own would be one request more to storage that may
//! be far away. What seldom needs a descriptor that is open gets it then.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::node::HandleFile;
use super::open::{EXEC, opens_for_writing};
use super::{FileHandle, Native, Node, Result};
use forebay_os::file_identity::reopen_with_flags;

impl FileHandle {
    /// The file itself, as far as it was ever opened.
    pub(super) fn own_file(&self) -> &OwnedFd {
        self.opened.get().unwrap_or(&self.file)
    }
}

impl Native {
    /// Learns whether the kernel takes the way to a file (Linux 6.16): a file that it can't use has
    /// another error.
    pub(super) fn probe_path_passthrough(&self) {
        let Some(device) = self.device.get().filter(|_| self.passthrough.load(Relaxed)) else {
            return;
        };
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let Ok(any) = openat(CWD, "/proc/self/exe", flags, Mode::empty()) else { return };
        let is_no_file = |error: std::io::Error| error.raw_os_error() == Some(libc::EBADF);
        self.lends_paths
            .store(!device.register_backing(any.as_fd()).is_err_and(is_no_file), Relaxed);
    }

    /// Whether an open like this one needs the way to the file only. The kernel has seen that the
    /// caller may read it. What looks at bytes, here or on their way, needs more.
    pub(super) fn opens_by_path(&self, node: &Node, flags: u32) -> bool {
        self.lends_paths.load(Relaxed)
            && !opens_for_writing(flags)
            && !self.settings.every_read
            && self.backend.is_in_place()
            && !node.foreign.load(Relaxed)
            && !self.refused.lock().contains(&node.identity().device)
            && !self.tiers().is_some_and(|tiers| tiers.has_cache())
    }

    /// Opens a file by the way to it after all, as the caller.
    ///
    /// # Errors
    /// The backing file system's.
    pub(super) fn reopen_by_path(&self, path: &OwnedFd, flags: u32) -> Result<OwnedFd> {
        let open = || {
            self.with_free_descriptors(|| {
                reopen_with_flags(path.as_fd(), self.backing_open_flags(flags))
            })
        };
        match open() {
            // A program that the caller may execute and not read: the kernel has seen that.
            Err(Errno::ACCESS) if flags & EXEC != 0 => self.credentials.run_as_daemon(open),
            opened => opened,
        }
    }

    /// The file of a handle, opened if it is not yet, whoever asks: somebody has it open.
    ///
    /// # Errors
    /// The backing file system's.
    pub(super) fn ensure_opened<'h>(&self, handle: &'h FileHandle) -> Result<&'h OwnedFd> {
        if handle.kind == HandleFile::Open || handle.opened.get().is_some() {
            return Ok(handle.own_file());
        }
        let again = || reopen_with_flags(handle.file.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK);
        let file = match handle.kind {
            HandleFile::Log => self.open_working_file_late(handle)?,
            _ => self.credentials.run_as_daemon(|| self.with_free_descriptors(again))?,
        };
        Ok(handle.opened.get_or_init(|| file))
    }
}
