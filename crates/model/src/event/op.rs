//! The kinds of operation a file system is asked for, as one table, and their dense index.

use serde::{Deserialize, Serialize};

/// What a kind of operation is about; a tier prices each group differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpGroup {
    /// Names and attributes.
    Metadata,
    /// Bytes of files, counted by size and pattern.
    Data,
    /// Promises that bytes are safe.
    Sync,
}

impl OpGroup {
    /// The name in the run file.
    pub const fn name(self) -> &'static str {
        ["metadata", "data", "sync"][self as usize]
    }
}

macro_rules! ops {
    ($($(#[doc = $doc:literal])+ $op:ident $name:literal $group:ident,)*) => {
        /// A kind of operation, as the kernel asks for it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])+ $op,)* }

        impl Op {
            /// Every kind, in the order of its number.
            pub const ALL: &'static [Self] = &[$(Self::$op,)*];

            /// The name in the run file, in JSON and on the screen.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$op => $name,)* }
            }

            /// What the operation is about.
            pub const fn group(self) -> OpGroup {
                match self { $(Self::$op => OpGroup::$group,)* }
            }
        }
    };
}

ops! {
    /// A name was looked up and found.
    Lookup "lookup" Metadata,
    /// A name was looked up and not found.
    LookupFailed "lookup_failed" Metadata,
    /// Attributes were read (`stat`).
    Getattr "getattr" Metadata,
    /// Mode, owner or times were changed.
    Setattr "setattr" Metadata,
    /// Permissions were asked for (`access`).
    Access "access" Metadata,
    /// A symbolic link was read.
    Readlink "readlink" Metadata,
    /// A file was created and opened.
    Create "create" Metadata,
    /// An existing file was opened.
    Open "open" Metadata,
    /// Bytes were read.
    Read "read" Data,
    /// Bytes were written.
    Write "write" Data,
    /// A descriptor was closed by a process (there may be several for one open).
    Flush "flush" Metadata,
    /// A file was made durable (`fsync`, `fdatasync`).
    Fsync "fsync" Sync,
    /// A directory was made durable.
    Fsyncdir "fsyncdir" Sync,
    /// The length was set (`truncate`, `ftruncate`, `O_TRUNC`).
    Truncate "truncate" Metadata,
    /// A name was changed.
    Rename "rename" Metadata,
    /// A hard link was made.
    Link "link" Metadata,
    /// A symbolic link was made.
    Symlink "symlink" Metadata,
    /// A file's name was removed.
    Unlink "unlink" Metadata,
    /// A directory was removed.
    Rmdir "rmdir" Metadata,
    /// A directory was made.
    Mkdir "mkdir" Metadata,
    /// A FIFO, socket, device or plain file was made by `mknod`.
    Mknod "mknod" Metadata,
    /// A directory was opened.
    Opendir "opendir" Metadata,
    /// Entries of a directory were listed.
    Readdir "readdir" Metadata,
    /// A lock was taken, tested or released.
    Lock "lock" Metadata,
    /// An extended attribute was read, listed or changed.
    Xattr "xattr" Metadata,
    /// Space was reserved or punched out.
    Fallocate "fallocate" Metadata,
    /// Bytes were copied inside the file system (`copy_file_range`).
    CopyRange "copy_range" Data,
    /// Data or holes were sought (`SEEK_DATA`, `SEEK_HOLE`).
    Seek "seek" Metadata,
    /// A device-like request (`ioctl`), such as an attempt to clone.
    Ioctl "ioctl" Metadata,
    /// Free space was asked for.
    Statfs "statfs" Metadata,
    /// The last reference to an open file went away (release).
    Close "close" Metadata,
}

impl Op {
    /// The kind with this name, as written by [`Op::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }
}

/// How many bytes one operation moved, in the classes that storage prices differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum SizeClass {
    /// At most 4 KiB.
    #[serde(rename = "4K")]
    Upto4K,
    /// More than 4 KiB, at most 64 KiB.
    #[serde(rename = "64K")]
    Upto64K,
    /// More than 64 KiB, at most 1 MiB.
    #[serde(rename = "1M")]
    Upto1M,
    /// More than 1 MiB.
    #[serde(rename = "more")]
    Over1M,
}

impl SizeClass {
    /// Every class, smallest first.
    pub const ALL: [Self; 4] = [Self::Upto4K, Self::Upto64K, Self::Upto1M, Self::Over1M];

    /// The class of an operation that moved `bytes`.
    #[inline]
    pub const fn for_bytes(bytes: u64) -> Self {
        match bytes {
            0..=4_096 => Self::Upto4K,
            4_097..=65_536 => Self::Upto64K,
            65_537..=1_048_576 => Self::Upto1M,
            _ => Self::Over1M,
        }
    }

    /// The name in the run file.
    pub const fn name(self) -> &'static str {
        ["4K", "64K", "1M", "more"][self as usize]
    }
}

/// Where one operation began compared with the end of the one before, on the same open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum AccessPattern {
    /// It went on where the last one ended (or was the first, at offset 0), or nearly so: parts
    /// of one read or write, which the kernel sends at once, overtake each other.
    Sequential,
    /// Anywhere else.
    Random,
}

impl AccessPattern {
    /// What an operation of so many bytes is that begins at `offset`, where the last one ended at
    /// `end`. The kernel splits at pages of a program's memory, and long reads into pieces that lie
    /// up to a few MiB ahead.
    pub const fn from_offsets(end: u64, offset: u64, bytes: u64) -> Self {
        let gap = end.abs_diff(offset);
        let near = gap < 4 << 10 || bytes >= 64 << 10 && gap <= 4 << 20;
        if near { Self::Sequential } else { Self::Random }
    }

    /// What a write is of pages that were collected, where it looked like this: long ones are parts
    /// of streams, many of which are on their way at a time.
    #[must_use]
    pub const fn as_collected_write(self, bytes: u64) -> Self {
        if bytes >= 64 << 10 { Self::Sequential } else { self }
    }

    /// Both patterns.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Random];

    /// The name in the run file.
    pub const fn name(self) -> &'static str {
        ["sequential", "random"][self as usize]
    }
}

/// What is counted apart: the kind, and for operations that move bytes their size and pattern.
///
/// Keys have a dense [`index`](OpKey::index), so that a recorder can keep flat arrays of
/// [`OpKey::COUNT`] counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpKey {
    op: Op,
    shape: Option<(SizeClass, AccessPattern)>,
}

/// Slots that one kind takes: a data operation has one for each size and pattern.
const fn slots_per_kind(op: Op) -> usize {
    if matches!(op.group(), OpGroup::Data) {
        SizeClass::ALL.len() * AccessPattern::ALL.len()
    } else {
        1
    }
}

/// The first slot of each kind.
const FIRST: [usize; Op::ALL.len()] = {
    let mut first = [0; Op::ALL.len()];
    let (mut i, mut next) = (0, 0);
    while i < first.len() {
        first[i] = next;
        next += slots_per_kind(Op::ALL[i]);
        i += 1;
    }
    first
};

impl OpKey {
    /// How many keys there are.
    pub const COUNT: usize = FIRST[Op::ALL.len() - 1] + slots_per_kind(Op::ALL[Op::ALL.len() - 1]);

    /// The key of an operation that moves no bytes. For a data operation it means 0 bytes,
    /// sequential.
    #[inline]
    pub const fn without_bytes(op: Op) -> Self {
        Self::with_bytes(op, 0, AccessPattern::Sequential)
    }

    /// The key of a data operation that moved `bytes`. Size and pattern are dropped for kinds that
    /// move no bytes.
    #[inline]
    pub const fn with_bytes(op: Op, bytes: u64, pattern: AccessPattern) -> Self {
        let shape = match op.group() {
            OpGroup::Data => Some((SizeClass::for_bytes(bytes), pattern)),
            OpGroup::Metadata | OpGroup::Sync => None,
        };
        Self { op, shape }
    }

    /// The key with these names, as a run file has them; `None` for a kind that this Forebay does
    /// not know.
    pub fn from_names(op: &str, size: Option<&str>, pattern: Option<&str>) -> Option<Self> {
        let op = Op::from_name(op)?;
        if op.group() != OpGroup::Data {
            return Some(Self::without_bytes(op));
        }
        let size = SizeClass::ALL.into_iter().find(|class| Some(class.name()) == size)?;
        let pattern = AccessPattern::ALL.into_iter().find(|p| Some(p.name()) == pattern)?;
        Some(Self { op, shape: Some((size, pattern)) })
    }

    /// The kind.
    pub const fn op(self) -> Op {
        self.op
    }

    /// The size class, for data operations.
    pub fn size(self) -> Option<SizeClass> {
        self.shape.map(|(size, _)| size)
    }

    /// The pattern, for data operations.
    pub fn pattern(self) -> Option<AccessPattern> {
        self.shape.map(|(_, pattern)| pattern)
    }

    /// The number of this key, below [`OpKey::COUNT`].
    #[inline]
    pub const fn index(self) -> usize {
        let inside = match self.shape {
            Some((size, pattern)) => size as usize * AccessPattern::ALL.len() + pattern as usize,
            None => 0,
        };
        FIRST[self.op as usize] + inside
    }

    /// The key with this number; `None` from [`OpKey::COUNT`] on.
    pub fn from_index(index: usize) -> Option<Self> {
        if index >= Self::COUNT {
            return None;
        }
        let op = FIRST.partition_point(|&first| first <= index) - 1;
        let (inside, op) = (index - FIRST[op], Op::ALL[op]);
        let shape = (op.group() == OpGroup::Data).then(|| {
            let patterns = AccessPattern::ALL.len();
            (SizeClass::ALL[inside / patterns], AccessPattern::ALL[inside % patterns])
        });
        Some(Self { op, shape })
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, counts are added to the wrong kind of operation and every price is wrong.
    use super::*;

    #[test]
    fn the_table_is_in_order_named_and_found_by_name() {
        for (number, &op) in Op::ALL.iter().enumerate() {
            assert_eq!(op as usize, number);
            assert!(op.name().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{op:?}");
            assert_eq!(Op::from_name(op.name()), Some(op), "two kinds are named {}", op.name());
        }
    }

    #[test]
    fn every_index_is_one_key_and_back() {
        for index in 0..OpKey::COUNT {
            let key = OpKey::from_index(index).expect("below COUNT");
            assert_eq!(key.index(), index);
            let (size, pattern) = (key.size().map(|s| s.name()), key.pattern().map(|p| p.name()));
            assert_eq!(OpKey::from_names(key.op().name(), size, pattern), Some(key));
        }
        assert_eq!(OpKey::from_index(OpKey::COUNT), None);
        assert_eq!(OpKey::COUNT, Op::ALL.len() + 3 * 7);
    }

    #[test]
    fn sizes_and_patterns_belong_to_data_only() {
        let write = OpKey::with_bytes(Op::Write, 4_097, AccessPattern::Random);
        assert_eq!(write.size(), Some(SizeClass::Upto64K));
        assert_eq!(write.pattern(), Some(AccessPattern::Random));
        assert_eq!(
            OpKey::with_bytes(Op::Fsync, 9, AccessPattern::Random),
            OpKey::without_bytes(Op::Fsync)
        );
        assert_eq!(SizeClass::for_bytes(1 << 20), SizeClass::Upto1M);
        assert_eq!(SizeClass::for_bytes((1 << 20) + 1), SizeClass::Over1M);
    }

    #[test]
    fn pieces_that_overtake_each_other_are_in_order() {
        use AccessPattern::{Random, Sequential};
        for (end, offset, bytes, pattern) in [
            (0, 0, 4096, Sequential),
            (4096, 4096, 4096, Sequential),
            (3000, 0, 2952, Sequential),
            (1 << 20, 0, 4096, Random),
            (1 << 20, 2 << 20, 128 << 10, Sequential),
            (1 << 20, 64 << 20, 128 << 10, Random),
            (4096, 0, 4096, Random),
        ] {
            assert_eq!(
                AccessPattern::from_offsets(end, offset, bytes),
                pattern,
                "{end} {offset} {bytes}"
            );
        }
    }
}
