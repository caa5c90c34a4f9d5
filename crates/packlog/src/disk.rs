//! What a log needs of a file system, so that tests can cut the power.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

/// A file that is written at its end.
pub(super) trait AppendFile: std::fmt::Debug + Send + Sync {
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<(), Errno>;
    /// Fills `buffer` as far as there are bytes; tells how many.
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<usize, Errno>;
    fn file_length(&self) -> Result<u64, Errno>;
    fn truncate_to(&self, length: u64) -> Result<(), Errno>;
    /// Makes all that was written safe from power failure.
    fn sync_data(&self) -> Result<(), Errno>;
}

/// Where a log is, and where the next one is written.
pub(super) trait LogStorage: std::fmt::Debug + Send + Sync {
    /// The log; empty when there is none yet.
    fn open_log(&self) -> Result<Arc<dyn AppendFile>, Errno>;
    /// An empty file beside it.
    fn create_new_log(&self) -> Result<Arc<dyn AppendFile>, Errno>;
    /// That file takes the log's place in one step. `false`: a power failure could undo it.
    fn replace_log(&self) -> Result<bool, Errno>;
    /// Makes the name of the log safe: a power failure does not bring back the one that it
    /// replaced, nor none.
    fn sync_directory(&self) -> Result<(), Errno>;
    /// That file is not wanted after all.
    fn discard_new_log(&self) -> Result<(), Errno>;
    /// Removes the log.
    fn remove_log(&self) -> Result<(), Errno>;
}

#[derive(Debug)]
struct PlainFile(OwnedFd);

impl AppendFile for PlainFile {
    fn write_at(&self, mut at: u64, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match rustix::io::pwrite(&self.0, bytes, at) {
                Ok(0) => return Err(Errno::IO),
                Ok(count) => {
                    bytes = &bytes[count..];
                    at += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<usize, Errno> {
        let mut done = 0;
        while done < buffer.len() {
            match rustix::io::pread(&self.0, &mut buffer[done..], at + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn file_length(&self) -> Result<u64, Errno> {
        rustix::fs::fstat(&self.0).map(|stat| stat.st_size as u64)
    }

    fn truncate_to(&self, length: u64) -> Result<(), Errno> {
        rustix::fs::ftruncate(&self.0, length)
    }

    fn sync_data(&self) -> Result<(), Errno> {
        rustix::fs::fdatasync(&self.0)
    }
}

/// A directory on a tier.
#[derive(Debug)]
pub(super) struct LogDirectory(OwnedFd);

const LOG: &str = "log";
const FRESH: &str = "log.new";

impl LogDirectory {
    pub(super) fn open(path: &std::path::Path) -> Result<LogDirectory, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(CWD, path, flags, Mode::empty()).map(LogDirectory)
    }

    pub(super) fn root(&self) -> &OwnedFd {
        &self.0
    }

    fn open_log_file(&self, name: &str, more: OFlags) -> Result<Arc<dyn AppendFile>, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | more;
        Ok(Arc::new(PlainFile(openat(&self.0, name, flags, Mode::from_raw_mode(0o600))?)))
    }
}

impl LogStorage for LogDirectory {
    fn open_log(&self) -> Result<Arc<dyn AppendFile>, Errno> {
        self.open_log_file(LOG, OFlags::empty())
    }

    fn create_new_log(&self) -> Result<Arc<dyn AppendFile>, Errno> {
        self.open_log_file(FRESH, OFlags::TRUNC)
    }

    fn replace_log(&self) -> Result<bool, Errno> {
        renameat(&self.0, FRESH, &self.0, LOG)?;
        Ok(self.sync_directory().is_ok())
    }

    fn sync_directory(&self) -> Result<(), Errno> {
        match rustix::fs::fsync(&self.0) {
            // A file system that can't, and has no other way.
            Err(Errno::INVAL) => Ok(()),
            done => done,
        }
    }

    fn discard_new_log(&self) -> Result<(), Errno> {
        unlinkat(&self.0, FRESH, AtFlags::empty())
    }

    fn remove_log(&self) -> Result<(), Errno> {
        let _ = unlinkat(&self.0, FRESH, AtFlags::empty());
        unlinkat(&self.0, LOG, AtFlags::empty())
    }
}
