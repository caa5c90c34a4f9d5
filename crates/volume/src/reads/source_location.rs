//! Where reads lie that are shown.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{AtFlags, Stat, statat};
use rustix::io::Errno;

use super::bucket_archive::Listing;

/// Where what has the text lies.
#[derive(Debug)]
pub(super) enum SourceLocation {
    /// In a directory, which is reached through this, wherever it lies and whatever covers it.
    Folder(OwnedFd),
    /// In a bucket.
    Bucket(Listing),
    /// In files that are open.
    Files,
}

impl SourceLocation {
    pub(super) fn folder(&self) -> Option<&OwnedFd> {
        match self {
            SourceLocation::Folder(folder) => Some(folder),
            SourceLocation::Bucket(_) | SourceLocation::Files => None,
        }
    }
}

pub(super) fn stat_in_folder(folder: &OwnedFd, name: &str) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// A path that leads to an open directory, whatever covers it.
pub(super) fn folder_proc_path(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}
