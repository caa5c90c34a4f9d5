//! Reading directories, in the backing file system's own order and with its own positions.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, RawDir, SeekFrom, seek};
use rustix::io::Errno;

use super::Result;

/// One name in a directory.
#[derive(Debug, Clone)]
pub struct DirEntry {
    /// The name; `.` and `..` come too.
    pub name: CString,
    /// The backing inode number.
    pub inode: u64,
    /// `DT_*` as in the kernel's record: the file type bits of the mode, shifted.
    pub kind: u32,
    /// Where to go on after this entry.
    pub next: u64,
}

/// A position in a directory, and entries read ahead of it.
#[derive(Debug)]
pub(crate) struct DirReader {
    pub(super) fd: OwnedFd,
    ahead: std::collections::VecDeque<DirEntry>,
    /// The position that the next entry of `ahead` was read at.
    at: u64,
    /// The end was seen there with the entries before it, and who reads asks for it next.
    ended: bool,
}

impl DirReader {
    pub(super) fn new(fd: OwnedFd) -> DirReader {
        DirReader { fd, ahead: Default::default(), at: 0, ended: false }
    }

    /// Shows entries from `position` on to `take` until it returns false.
    pub(crate) fn for_each_entry_from(
        &mut self,
        position: u64,
        mut take: impl FnMut(&DirEntry) -> bool,
    ) -> Result<()> {
        if position != self.at {
            self.ahead.clear();
            seek(&self.fd, SeekFrom::Start(position))?;
            self.at = position;
            self.ended = false;
        }
        // Slow storage takes a round trip to say again that there is nothing more.
        if std::mem::take(&mut self.ended) {
            return Ok(());
        }
        let mut any = false;
        loop {
            if self.ahead.is_empty() && !self.read_ahead()? {
                self.ended = any;
                return Ok(());
            }
            while let Some(entry) = self.ahead.front() {
                if !take(entry) {
                    return Ok(());
                }
                any = true;
                self.at = entry.next;
                self.ahead.pop_front();
            }
        }
    }

    fn read_ahead(&mut self) -> Result<bool> {
        let mut buffer = Vec::with_capacity(32 << 10);
        let mut raw = RawDir::new(&self.fd, buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // The directory was removed while open: it is empty now.
                Err(Errno::NOENT) => return Ok(false),
                Err(error) => return Err(error),
            };
            self.ahead.push_back(DirEntry {
                name: entry.file_name().to_owned(),
                inode: entry.ino(),
                kind: dirent_type(entry.file_type()),
                next: entry.next_entry_cookie(),
            });
            if raw.is_buffer_empty() {
                break;
            }
        }
        Ok(!self.ahead.is_empty())
    }
}

fn dirent_type(kind: FileType) -> u32 {
    match kind {
        FileType::Unknown => 0,
        known => known.as_raw_mode() >> 12,
    }
}
