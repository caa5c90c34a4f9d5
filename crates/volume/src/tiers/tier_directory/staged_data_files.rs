//! Bodies that are made while a file is moved to a tier: each has a copy's name until it is whole, so
//! that whoever opens the room after a kill takes it away.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat, renameat};
use rustix::io::Errno;

use super::TierDirectory;
use super::copy_files::{PARTIAL, prefixed_name};

impl TierDirectory {
    /// Makes the file for a body.
    pub(in crate::tiers) fn begin_data_file(&self, key: &CStr) -> Result<OwnedFd, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        openat(&self.root, prefixed_name(PARTIAL, key), flags, Mode::RUSR | Mode::WUSR)
    }

    /// The body is whole.
    pub(in crate::tiers) fn finish_data_file(&self, key: &CStr) -> Result<(), Errno> {
        renameat(&self.root, prefixed_name(PARTIAL, key), &self.root, key)
    }
}
