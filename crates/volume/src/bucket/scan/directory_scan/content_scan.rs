//! The bytes of a plain file: whether they are others than the bucket has.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::super::super::placeholder::is_evicted;
use super::super::super::tree_record::{ContentLocation, Time, TreeRecord};
use super::super::Result;
use super::super::scan_result::{FileStamp, PendingFile, stamp_from_statx};
use super::{DirectoryScan, ScannedEntry};

/// Bytes of files that a scan reads itself; more wait until names may change again.
const READ_AT_ONCE: usize = 16 << 20;

impl DirectoryScan<'_> {
    /// Whether its bytes are in the bucket alone, and so its time is not to be believed.
    pub(super) fn is_evicted(&self, ino: u64, fd: &OwnedFd, name: &CStr, mtime: Time) -> bool {
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let known = self.tree.file(ino).filter(|file| file.place != ContentLocation::Empty);
        known.is_some_and(|file| file.attr.mtime != mtime)
            && openat(fd, name, how, Mode::empty()).is_ok_and(|file| is_evicted(&file))
    }

    /// Looks at its bytes: small ones are read now.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn scan_file_content(&mut self, one: &ScannedEntry<'_>) -> Result<()> {
        let ScannedEntry { fd, name, ino, identity, .. } = *one;
        let stamp = stamp_from_statx(&one.stat);
        self.note_plain(one);
        let before = self.scan.stamps.get(&ino).copied();
        let is_laid = self.is_layout_current(one);
        if before == Some(stamp) && is_laid {
            return Ok(());
        }
        let is_written = self.scan.written.as_ref().is_none_or(|all| all.contains(&identity));
        if !is_written && is_laid && before.is_some_and(|before| before.has_bytes_of(&stamp)) {
            self.scan.record_stamp(ino, stamp);
            return Ok(());
        }
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(fd, name, how, Mode::empty())?;
        let is_away = is_evicted(&file);
        if is_away && is_laid {
            // Its bytes never came here: another name or mode is all that it can have got.
            self.scan.record_stamp(ino, stamp);
            return Ok(());
        }
        let is_own = self.wants_object(one);
        if !is_laid {
            // Later: until then the log needs an object that it has, which first gets out of the
            // way of others.
            self.scan.record_stamp(ino, FileStamp::NEVER);
        }
        if is_own || !is_laid || self.found.draft.encoded_length() > READ_AT_ONCE {
            let path = one.path.clone();
            let large = PendingFile { ino, identity, path, stamp, by: None, is_own, is_away };
            self.found.large.push(large);
            if self.is_lent {
                self.found.held.insert(ino, file);
            }
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(stamp.size() as usize);
        std::io::Read::read_to_end(&mut std::fs::File::from(file), &mut bytes)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let place = self.found.pack_bytes(ino, &bytes);
        self.append_record(&TreeRecord::Bytes { ino, place });
        self.scan.record_stamp(ino, stamp);
        self.scan.mark_clean(&identity);
        Ok(())
    }
}
