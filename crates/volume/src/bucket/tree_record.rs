//! What a volume's log in the bucket is made of: records of what its tree is like, not of what was
//! done to it. docs/formats/bucket.md draws them; the order of the variants is durable.

use forebay_model::is_file_name;
use serde::{Deserialize, Serialize};

/// Seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Time {
    pub(crate) sec: i64,
    pub(crate) nsec: u32,
}

/// What stat(2) shows of a file, its links and size apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attr {
    /// Permission bits with set-id and sticky bits.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: Time,
}

/// What kind of file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Folder,
    Plain,
    /// A symbolic link, and where it leads.
    Link(Vec<u8>),
    /// A pipe, socket or device: its type as in `st_mode`, and its device number.
    Special {
        mode: u32,
        device: u64,
    },
}

/// A segment, as it speaks of itself.
pub(crate) const HERE: u64 = u64::MAX;

/// Where the bytes of a plain file are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ContentLocation {
    /// Nowhere: there are none.
    Empty,
    /// In a segment's data; in a segment `HERE` is that one.
    Packed { segment: u64, at: u64, length: u32, crc: u32 },
    /// An object of their own, in this state of it.
    Own { key: String, version: Option<String>, size: u64 },
}

impl ContentLocation {
    /// The same, as seen from outside the segment that says it.
    pub(crate) fn in_segment(self, number: u64) -> ContentLocation {
        match self {
            ContentLocation::Packed { segment: HERE, at, length, crc } => {
                ContentLocation::Packed { segment: number, at, length, crc }
            }
            other => other,
        }
    }

    /// Bytes.
    pub(crate) fn size(&self) -> u64 {
        match self {
            ContentLocation::Empty => 0,
            ContentLocation::Packed { length, .. } => u64::from(*length),
            ContentLocation::Own { size, .. } => *size,
        }
    }
}

/// A step from one state of the tree to the next. Those between two `Cut`s belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TreeRecord<'a> {
    /// From here on somebody else writes the log: who, in words.
    Begin {
        #[serde(borrow)]
        who: &'a str,
    },
    /// A file is there, without a name yet if it is new, and is like this.
    File { ino: u64, kind: Kind, attr: Attr },
    /// Its bytes are there.
    Bytes { ino: u64, place: ContentLocation },
    /// An extended attribute has this value, or is gone.
    Extended { ino: u64, name: &'a [u8], value: Option<&'a [u8]> },
    /// A name leads to a file, wherever it led before.
    Name { folder: u64, name: &'a [u8], ino: u64 },
    /// A name is gone. A file without names is gone at the next cut.
    Gone { folder: u64, name: &'a [u8] },
    /// The tree was like this at one moment.
    Cut,
    /// The object that has the bytes of this file has these checksums (`block_checksums`).
    Sums { ino: u64, place: ContentLocation },
}

/// The longest path that a link leads to (`PATH_MAX` of Linux, with the NUL).
const LONGEST: usize = 4096;

impl TreeRecord<'_> {
    /// What in it no writer of a volume says: whoever believed it would make, or go to, something
    /// outside of the volume. A record is believed only without.
    pub(crate) fn validation_error(&self) -> Option<&'static str> {
        match self {
            TreeRecord::Name { name, .. } | TreeRecord::Gone { name, .. }
                if !is_file_name(name) =>
            {
                Some("a name in it is none that a file can have")
            }
            TreeRecord::File { kind: Kind::Link(to), .. }
                if !(1..LONGEST).contains(&to.len()) || to.contains(&0) =>
            {
                Some("a link in it leads to what is no path")
            }
            TreeRecord::File { kind: Kind::Special { mode, .. }, .. }
                if !matches!(
                    mode & libc::S_IFMT,
                    libc::S_IFIFO | libc::S_IFSOCK | libc::S_IFCHR | libc::S_IFBLK
                ) =>
            {
                Some("a file in it is of no kind that there is")
            }
            _ => None,
        }
    }
}
