//! What nodes ask each other.

use forebay_book::{Entry, EntryName, FileRecord, FolderId, InodeNumber, NodeId};

use super::locks::Lock;

/// Bytes of a file that one question asks for, at most.
pub const BYTES_MOST: u32 = 1 << 20;

/// A question to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Where a name of a folder that it holds leads; without a name: the folder itself.
    Look {
        /// The folder.
        folder: FolderId,
        /// The name.
        name: Option<EntryName>,
    },
    /// All names of a folder that it holds.
    List {
        /// The folder.
        folder: FolderId,
    },
    /// To publish a folder and give it up.
    GiveUp {
        /// The folder.
        folder: FolderId,
    },
    /// Whether a program there has a file open to write.
    IsWritten {
        /// The file.
        file: InodeNumber,
    },
    /// Bytes of a file that are on its disk or in its memory.
    Bytes {
        /// The file.
        file: InodeNumber,
        /// The first.
        offset: u64,
        /// How many; fewer come where the file ends. At most [`BYTES_MOST`].
        length: u32,
    },
    /// Whether a program there has a lock that keeps this one out.
    Locks {
        /// The node that is meant: another one may have its address by now.
        of: NodeId,
        /// The file.
        file: InodeNumber,
        /// The lock that a program of the asking node wants.
        wanted: Lock,
        /// That program waits for it.
        waits: bool,
    },
}

/// What a node answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It does not hold the folder, or not any longer.
    NotHeld,
    /// It can't do it just now: why, for people.
    Busy(String),
    /// The name leads to this file. Of a folder that the node does not hold itself the attributes are
    /// not known there.
    Found {
        /// The file.
        file: Box<FileRecord>,
        /// The node knows its attributes.
        is_known: bool,
    },
    /// There is no such name.
    Absent,
    /// All names.
    Names(Vec<Entry>),
    /// Published and given up.
    GivenUp,
    /// Whether the file is open to be written.
    Written(bool),
    /// Bytes.
    Bytes(Vec<u8>),
    /// It has no bytes of this file.
    NoBytes,
    /// What its programs have locked.
    Locks {
        /// A lock that keeps the wanted one out.
        in_the_way: Option<Lock>,
        /// They have locks on the file, this one or others.
        has_others: bool,
    },
}
