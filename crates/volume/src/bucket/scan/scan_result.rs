//! What a scan finds, and how it tells one state of a file from another.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{AtFlags, Statx, StatxFlags, statx};
use serde::{Deserialize, Serialize};

use super::super::segment::SegmentDraft;
use super::super::tree_record::{ContentLocation, HERE, Time};
use super::Result;
use forebay_os::file_identity::FileIdentity;

/// Files up to this size, in bytes, go into segments; larger ones are objects of their own.
pub(crate) const LARGEST: u64 = 128 << 10;

/// By what a change of a file is noticed: its size, and the times at which bytes and anything at
/// all of it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    size: u64,
    mtime: Time,
    ctime: Time,
}

impl FileStamp {
    /// That of no file: it is looked at again.
    pub(super) const NEVER: FileStamp = {
        let never = Time { sec: i64::MIN, nsec: 0 };
        FileStamp { size: u64::MAX, mtime: never, ctime: never }
    };

    /// The same with another time of modification.
    pub(crate) fn with_mtime(self, mtime: Time) -> FileStamp {
        FileStamp { mtime, ..self }
    }

    pub(crate) fn from_file(file: BorrowedFd<'_>) -> Result<FileStamp> {
        Ok(stamp_from_statx(&statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?))
    }

    /// Whether a file of this state, which nobody has written since, has the same bytes: a name, an
    /// owner or a mode that changes is seen in another time.
    pub(super) fn has_bytes_of(&self, other: &FileStamp) -> bool {
        (self.size, self.mtime) == (other.size, other.mtime)
    }

    /// Whether anything of the file changed after it was in another state.
    pub(crate) fn is_later_than(&self, other: &FileStamp) -> bool {
        self.ctime > other.ctime
    }

    /// Bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The time at which they changed.
    pub(crate) fn mtime(&self) -> Time {
        self.mtime
    }
}

impl std::fmt::Display for FileStamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FileStamp { mtime, ctime, .. } = self;
        write!(f, "{}.{:09} {}.{:09}", mtime.sec, mtime.nsec, ctime.sec, ctime.nsec)
    }
}

/// A file whose bytes are still to be read: one for which there is no room in a segment, or that
/// is to lie elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingFile {
    pub(crate) ino: u64,
    pub(crate) identity: FileIdentity,
    pub(crate) path: Vec<u8>,
    pub(crate) stamp: FileStamp,
    /// Another of its names, by which it has an object.
    pub(crate) by: Option<Vec<u8>>,
    /// It gets an object of its own.
    pub(crate) is_own: bool,
    /// Its bytes are in the bucket alone.
    pub(crate) is_away: bool,
}

/// A file that can't be read.
#[derive(Debug)]
pub(crate) struct UnreadableFile {
    pub(crate) path: Vec<u8>,
    pub(crate) identity: FileIdentity,
}

/// What a scan has learnt since it was asked last.
#[derive(Debug, Default)]
pub(crate) struct ScanUpdates {
    /// Which of the bucket's files is which here: inode and time of birth.
    pub(crate) numbers: Vec<(u64, (u64, i128))>,
    /// As which of its states a file's bytes are in the bucket.
    pub(crate) stamps: Vec<(u64, FileStamp)>,
}

/// What a scan has found so far.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    pub(crate) draft: SegmentDraft,
    /// A part of it that has become long enough for a segment, and the files whose bytes are there.
    pub(crate) overflow: Option<(SegmentDraft, Vec<u64>)>,
    /// Such a part is in the log.
    pub(crate) is_begun: bool,
    pub(crate) large: Vec<PendingFile>,
    /// Those that can't be opened later.
    pub(crate) held: FxHashMap<u64, OwnedFd>,
    /// Files that can't be read.
    pub(crate) unread: Vec<UnreadableFile>,
    /// Files with several names, and one that says that they are objects of their own.
    pub(crate) plain: FxHashMap<u64, Vec<u8>>,
    /// Those of them that are in the bucket.
    pub(crate) stored: FxHashSet<u64>,
    /// Those that never came here, and lie elsewhere now.
    pub(crate) laid: Vec<u64>,
    /// Files whose bytes are in the draft.
    pub(crate) packed: Vec<u64>,
}

impl ScanResult {
    /// The next file that is to be read.
    pub(crate) fn next_large(&mut self) -> Option<PendingFile> {
        let mut large = self.large.pop()?;
        large.by = self.plain.get(&large.ino).cloned();
        large.is_own |= large.by.is_some();
        Some(large)
    }

    /// Takes the bytes of a small file in.
    pub(crate) fn pack_bytes(&mut self, ino: u64, bytes: &[u8]) -> ContentLocation {
        match bytes.len() as u32 {
            0 => ContentLocation::Empty,
            length => {
                let (at, crc) = (self.draft.append_data(bytes), crc32fast::hash(bytes));
                self.packed.push(ino);
                ContentLocation::Packed { segment: HERE, at, length, crc }
            }
        }
    }
}

pub(super) fn time_from_statx(stamp: &rustix::fs::StatxTimestamp) -> Time {
    Time { sec: stamp.tv_sec, nsec: stamp.tv_nsec }
}

pub(super) fn stamp_from_statx(stat: &Statx) -> FileStamp {
    FileStamp {
        size: stat.stx_size,
        mtime: time_from_statx(&stat.stx_mtime),
        ctime: time_from_statx(&stat.stx_ctime),
    }
}
