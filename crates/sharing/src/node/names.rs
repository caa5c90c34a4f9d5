//! What whoever serves programs asks for, and is told.

use std::time::Duration;

use forebay_book::{EntryName, FileKind, InodeNumber};

/// A file, as programs are to see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its number, the same on all nodes.
    pub file: InodeNumber,
    /// What it is.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Last modification, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last access, as far as it was set; else the last modification. Nanoseconds since 1970.
    pub atime_ns: i64,
    /// Last change of attributes or bytes, nanoseconds since 1970.
    pub ctime_ns: i64,
    /// Length in bytes.
    pub size: u64,
    /// The device, for devices.
    pub rdev: u64,
    /// Names that lead to it. Folders: 1, which says nothing.
    pub links: u32,
    /// How long its name may be believed.
    pub name_trust: Duration,
    /// How long the attributes may be believed.
    pub attribute_trust: Duration,
}

/// A name in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedName {
    /// The name.
    pub name: EntryName,
    /// Where it leads.
    pub file: InodeNumber,
    /// What that is.
    pub kind: FileKind,
}

/// A file to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// What.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group, unless the folder gives its own (set-group-ID).
    pub gid: u32,
    /// The device, for devices.
    pub rdev: u64,
    /// The target of a symbolic link.
    pub target: Vec<u8>,
}

/// Attributes to be changed; `None` stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AttributeChange {
    /// Permission bits.
    pub mode: Option<u32>,
    /// The owner.
    pub uid: Option<u32>,
    /// The group.
    pub gid: Option<u32>,
    /// The length.
    pub size: Option<u64>,
    /// Last modification, nanoseconds since 1970.
    pub mtime_ns: Option<i64>,
    /// Last access, nanoseconds since 1970.
    pub atime_ns: Option<i64>,
}

/// What a rename does with a name that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameRule {
    /// It replaces it.
    Replace,
    /// It fails (EEXIST).
    KeepTarget,
}
