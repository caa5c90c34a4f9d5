//! Extended attributes of a file or folder: whether they are others than the bucket has.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Statx};

use super::super::extended;
use super::super::record::Record;
use super::Result;
use super::found::stamp_of;
use super::turn::Turn;

impl Turn<'_> {
    /// Looks at those of a file or folder.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn extended(
        &mut self,
        ino: u64,
        fd: &OwnedFd,
        name: &CStr,
        stat: &Statx,
    ) -> Result<()> {
        let (stamp, known) = (stamp_of(stat), self.scan.stamps.get(&ino));
        let is_folder = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Directory;
        let is_file = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::RegularFile;
        if !is_folder && (!is_file || known == Some(&stamp)) {
            return Ok(());
        }
        let now = extended::of(fd.as_fd(), name)?;
        let before = self.tree.file(ino).map(|file| file.extended.clone()).unwrap_or_default();
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            self.say(&Record::Extended { ino, name, value: None });
        }
        for (name, value) in now.iter().filter(|(name, value)| before.get(*name) != Some(*value)) {
            self.say(&Record::Extended { ino, name, value: Some(value) });
        }
        Ok(())
    }
}
