//! Which files of a local tree are placeholders.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};

use super::super::placeholder::is_evicted;
use super::super::scan::{LentReadPermission, open_directory_at};
use super::{INTO, Result};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// The files below a directory whose bytes are in the bucket alone, open to read.
///
/// # Errors
/// Those of the file system.
pub(crate) fn open_evicted_files(root: &OwnedFd) -> Result<Vec<(FileIdentity, OwnedFd)>> {
    let mut found = Vec::new();
    collect_evicted_below(&openat(root, c".", INTO, Mode::empty())?, &mut found)?;
    Ok(found)
}

fn collect_evicted_below(folder: &OwnedFd, found: &mut Vec<(FileIdentity, OwnedFd)>) -> Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match entry.file_type() {
            FileType::Directory if !matches!(name.to_bytes(), b"." | b"..") => {
                let (inner, _lent) = open_directory_at(folder, name)?;
                collect_evicted_below(&inner, found)?;
            }
            FileType::RegularFile => {
                let _lent = LentReadPermission::grant_read_access(folder, name);
                // What this user may not even read was not made by this user.
                let Ok(file) = openat(folder, name, how, Mode::empty()) else { continue };
                if is_evicted(&file) {
                    found.push((
                        FileIdentity::from_statx(&statx_nofollow(file.as_fd(), c"")?),
                        file,
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
