//! The mark of a file that a program has made durable on this machine's disk: what fsync(2)
//! returned for counts after a power failure, too, unless the bucket has later bytes.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{XattrFlags, fdatasync, fgetxattr, fsetxattr};
use rustix::io::Errno;

use super::super::placeholder::while_writable;
use super::super::tree::VolumeFile;
use super::super::tree_record::{ContentLocation, Time};
use super::Result;
use forebay_os::file_identity::statx_nofollow;

const SYNCED: &str = "user.forebay.synced";
/// More than the longest mark.
const LONGEST: usize = 80;

/// What a file says of the last time it was synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyncMark {
    /// No segment below this one had its bytes.
    pub(crate) segment: u64,
    /// Its time of modification then.
    mtime: Time,
}

impl SyncMark {
    /// What a file says; `None`: nothing.
    pub(crate) fn read_mark(file: impl AsFd) -> Option<SyncMark> {
        let mut text = [0; LONGEST];
        let length = fgetxattr(file, SYNCED, &mut text[..]).ok()?;
        let mut words = std::str::from_utf8(text.get(..length)?).ok()?.split(' ');
        let mut word = || words.next();
        let segment = word()?.parse().ok()?;
        let mtime = Time { sec: word()?.parse().ok()?, nsec: word()?.parse().ok()? };
        Some(SyncMark { segment, mtime })
    }

    /// Whether the bucket has older bytes of a file than were synced.
    pub(crate) fn is_newer_than(&self, known: &VolumeFile) -> bool {
        // Where its checksums are says when an object was written, whatever it is called now.
        let place = known.sums.as_deref().unwrap_or(&known.place);
        let is_later = match place {
            ContentLocation::Packed { segment, .. } => self.segment > *segment,
            _ => false,
        };
        // Bytes that were written once more, with others, are in a later segment than at first.
        self.mtime != known.attr.mtime && (is_later || self.mtime > known.attr.mtime)
    }
}

/// Says in a file, which is about to be synced, that it was; `segment` is the first that can have
/// what is in it now.
///
/// # Errors
/// Those of the file system.
pub(crate) fn mark_synced(file: BorrowedFd<'_>, segment: u64) -> Result<()> {
    let stat = statx_nofollow(file, c"")?;
    let mtime = Time { sec: stat.stx_mtime.tv_sec, nsec: stat.stx_mtime.tv_nsec };
    if SyncMark::read_mark(file) == Some(SyncMark { segment, mtime }) {
        return Ok(());
    }
    // The bytes before the mark: a journal may be written at any moment, and would make a file
    // count whose bytes are on no disk.
    flush_data(file)?;
    let text = format!("{segment} {} {}", mtime.sec, mtime.nsec);
    let set = || fsetxattr(file, SYNCED, text.as_bytes(), XattrFlags::empty());
    match set() {
        Err(Errno::ACCESS) => while_writable(file, set),
        done => done,
    }
}

/// Writes the bytes of a file out, without waiting for the disk's own memory: the sync that follows
/// does.
fn flush_data(file: BorrowedFd<'_>) -> Result<()> {
    use std::os::fd::AsRawFd;
    let how = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: it takes numbers alone.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, how) } {
        0 => Ok(()),
        _ => fdatasync(file),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tree::{ROOT, VolumeTree};
    use super::super::super::tree_record::{Attr, Kind, TreeRecord};
    use super::*;

    #[test]
    fn what_was_synced_after_the_bucket_got_its_bytes_is_newer() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = std::fs::File::create(folder.path().join("x")).expect("made");
        assert_eq!(SyncMark::read_mark(&file), None);
        mark_synced(file.as_fd(), 7).expect("marked");
        let synced = SyncMark::read_mark(&file).expect("it says so");
        let mut tree = VolumeTree::default();
        let mut known = |segment, sec| {
            let attr = Attr { mtime: Time { sec, nsec: 0 }, ..Attr::default() };
            let place = ContentLocation::Packed { segment, at: 0, length: 4, crc: 9 };
            tree.apply_record(&TreeRecord::File { ino: ROOT + 1, kind: Kind::Plain, attr });
            tree.apply_record(&TreeRecord::Bytes { ino: ROOT + 1, place });
            tree.file(ROOT + 1).expect("there").clone()
        };
        let (before, after) = (1, i64::from(u32::MAX));
        assert!(synced.is_newer_than(&known(6, after)), "its time was set");
        assert!(!synced.is_newer_than(&known(7, after)) && !synced.is_newer_than(&known(8, after)));
        assert!(synced.is_newer_than(&known(8, before)), "what the bucket has was moved");
        mark_synced(file.as_fd(), 9).expect("marked again");
        assert_eq!(SyncMark::read_mark(&file).expect("it says so").segment, 9);
    }
}
