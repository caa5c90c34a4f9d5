//! Single calls, each counted and timed by itself, relative to a directory that is open: no name on
//! the way there is looked up again.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{self, AtFlags, Mode, OFlags, RawDir, StatxFlags};
use rustix::io::Errno;

use super::bounds::{ProbeBudget, ProbeStop};

/// What a call gave, and how many seconds it took.
pub(super) type TimedResult<T = ()> = Result<(T, f64), ProbeStop>;

/// The size of a small file, and of a random read or write.
pub(super) const SMALL: usize = 4096;

/// One thread's own directory.
#[derive(Debug)]
pub(super) struct ThreadDirectory<'b> {
    pub(super) bounds: &'b ProbeBudget,
    pub(super) dir: OwnedFd,
}

impl ThreadDirectory<'_> {
    /// Counts a call and times it.
    pub(super) fn timed_call<T>(
        &self,
        what: &'static str,
        bytes: usize,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> TimedResult<T> {
        self.bounds.count_operation(bytes as u64)?;
        let began = Instant::now();
        let result = call();
        let seconds = began.elapsed().as_secs_f64();
        result.map(|value| (value, seconds)).map_err(|errno| ProbeStop::Failed(what, errno))
    }

    /// Asks for the directory's own attributes, whatever the kernel believes to know: after a change
    /// it asks for them before the next one, and that would be counted there.
    pub(super) fn refresh_attributes(&self) -> TimedResult {
        self.read_attributes(&self.dir)
    }

    /// The attributes of what is open, from the storage.
    pub(super) fn read_attributes(&self, of: &OwnedFd) -> TimedResult {
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
        self.timed_call("stat", 0, || fs::statx(of, c"", flags, StatxFlags::BASIC_STATS).map(drop))
    }

    /// Whether a name is there.
    pub(super) fn stat(&self, name: &str) -> TimedResult<bool> {
        let stat = || match fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(false),
            result => result.map(|_| true),
        };
        self.timed_call("stat", 0, stat)
    }

    pub(super) fn create(&self, name: &str) -> TimedResult<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        self.timed_call("create", 0, || fs::openat(&self.dir, name, flags, mode))
    }

    pub(super) fn write(&self, file: &OwnedFd, bytes: &[u8], at: u64) -> TimedResult {
        let whole = |done| if done == bytes.len() { Ok(()) } else { Err(Errno::NOSPC) };
        self.timed_call("write", bytes.len(), || {
            rustix::io::pwrite(file, bytes, at).and_then(whole)
        })
    }

    pub(super) fn read(&self, file: &OwnedFd, bytes: &mut [u8], at: u64) -> TimedResult {
        let len = bytes.len();
        let whole = |done| if done == len { Ok(()) } else { Err(Errno::IO) };
        self.timed_call("read", len, || rustix::io::pread(file, bytes, at).and_then(whole))
    }

    /// Network storage may send what was written now, and say that it could not.
    pub(super) fn close(&self, file: OwnedFd) -> TimedResult {
        self.timed_call("close", 0, || {
            use std::os::fd::IntoRawFd;
            // SAFETY: the descriptor was owned, and nobody has it any more.
            match unsafe { libc::close(file.into_raw_fd()) } {
                0 => Ok(()),
                _ => {
                    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
                }
            }
        })
    }

    /// The file or directory behind a name, without opening it: its name has been looked up then.
    pub(super) fn lookup_name(&self, name: &str) -> TimedResult<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        self.timed_call("look-up", 0, || fs::openat(&self.dir, name, flags, Mode::empty()))
    }

    /// Opens what was found, without a name.
    pub(super) fn open(&self, found: &OwnedFd, flags: OFlags) -> TimedResult<OwnedFd> {
        let path = format!("/proc/self/fd/{}", found.as_raw_fd());
        self.timed_call("open", 0, || fs::open(&path, flags | OFlags::CLOEXEC, Mode::empty()))
    }

    pub(super) fn fsync(&self, file: impl AsFd) -> TimedResult {
        self.timed_call("fsync", 0, || fs::fsync(file))
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> TimedResult {
        self.timed_call("rename", 0, || fs::renameat(&self.dir, from, &self.dir, to))
    }

    pub(super) fn unlink(&self, name: &str) -> TimedResult {
        self.timed_call("unlink", 0, || fs::unlinkat(&self.dir, name, AtFlags::empty()))
    }

    pub(super) fn mkdir(&self, name: &str) -> TimedResult {
        self.timed_call("mkdir", 0, || fs::mkdirat(&self.dir, name, Mode::RWXU))
    }

    pub(super) fn rmdir(&self, name: &str) -> TimedResult {
        self.timed_call("rmdir", 0, || fs::unlinkat(&self.dir, name, AtFlags::REMOVEDIR))
    }

    /// All entries of a directory; two requests, the second of which finds the end.
    pub(super) fn read_directory(&self, dir: &OwnedFd) -> TimedResult {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        self.timed_call("readdir", 0, || {
            let mut entries = RawDir::new(dir, &mut buffer);
            while let Some(entry) = entries.next() {
                entry?;
            }
            Ok(())
        })
    }
}
