//! What a directory must hold after a workload.

use super::WorkDirectory;
use crate::error::{Error, Result};
use rustix::fs::{FileType, Mode, OFlags, RawDir};
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// Lists the directory through a file descriptor of its own and expects `expected` entries.
pub(super) fn list_expecting(
    place: &WorkDirectory<'_>,
    expected: u64,
    mut each: impl FnMut(&CStr) -> Result<()>,
) -> Result<u64> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let dir = rustix::fs::openat(&place.dir, c".", flags, Mode::empty())?;
    // What glibc's readdir uses.
    let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
    let mut entries = RawDir::new(&dir, &mut buffer);
    let mut found = 0;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        // Forebay's own directory stays as long as packed files do.
        if name == c"." || name == c".." || name == c".forebay" {
            continue;
        }
        if entry.file_type() == FileType::RegularFile {
            each(name)?;
        }
        found += 1;
    }
    if found == expected {
        return Ok(0);
    }
    Err(Error::check_failed(format!("{found} entries instead of {expected}")))
}

/// The directory holds exactly `expected` entries.
pub(super) fn check_entry_count(place: &WorkDirectory<'_>, expected: u64) -> Result<()> {
    list_expecting(place, expected, |_| Ok(())).map(drop)
}
