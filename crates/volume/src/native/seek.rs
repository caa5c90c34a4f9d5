//! Where a file has bytes, and where holes.

use std::os::fd::AsFd;

use rustix::io::Errno;

use super::{FileHandle, Native, Result};
use forebay_os::file_identity::statx_nofollow;

impl Native {
    /// Finds data or a hole (`SEEK_DATA`, `SEEK_HOLE`).
    ///
    /// # Errors
    /// ENXIO past the end.
    pub(crate) fn seek_data_or_hole(
        &self,
        handle: &FileHandle,
        offset: u64,
        whence: u32,
    ) -> Result<u64> {
        if let Some(source) = handle.source.as_ref().filter(|source| !source.is_complete()) {
            // Holes here are not holes of the file: it has none.
            let here = statx_nofollow(handle.file.as_fd(), c"")?.stx_size;
            let size = source.own_length().unwrap_or(here);
            return match whence as i32 {
                _ if offset >= size => Err(Errno::NXIO),
                libc::SEEK_DATA => Ok(offset),
                libc::SEEK_HOLE => Ok(size),
                _ => Err(Errno::INVAL),
            };
        }
        let to = match whence as i32 {
            libc::SEEK_DATA => rustix::fs::SeekFrom::Data(offset),
            libc::SEEK_HOLE => rustix::fs::SeekFrom::Hole(offset),
            _ => return Err(Errno::INVAL),
        };
        self.ensure_opened(handle)?;
        // The position of our own descriptor is used by nobody.
        rustix::fs::seek(handle.read_descriptor(), to)
    }
}
