//! What is owed to the bucket, and what is kept here of what it has.

use forebay_book::InodeNumber;
use rustc_hash::FxHashMap;

/// A file whose bytes this node has to bring to the bucket.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Owed {
    /// When it was first seen here: nanoseconds of the node's clock; 0: not yet.
    pub(super) since: u64,
}

/// Bytes on this node's disk that are in the bucket, too.
#[derive(Debug)]
pub(super) struct LocalCopy {
    pub(super) object: String,
    pub(super) size: u64,
    /// The later, the higher.
    pub(super) age: u64,
    /// The book says that the bucket has them.
    pub(super) may_go: bool,
}

/// Bytes on their way to the bucket, and what is to be removed there.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    pub(super) owed: FxHashMap<InodeNumber, Owed>,
    pub(super) copies: FxHashMap<InodeNumber, LocalCopy>,
    /// Files that a thread sends now; true: they were changed meanwhile.
    pub(super) under_way: FxHashMap<InodeNumber, bool>,
    /// Objects that no file needs any more once the next publication is taken.
    pub(super) unneeded: Vec<String>,
    /// Objects that no file needs, and since when: 0: since just now.
    pub(super) to_remove: Vec<(u64, String)>,
    /// Files without a name whose bytes are on this disk still, and the change after which it was so:
    /// until the book knows that one, it may lead others, and the next process of this node, to them.
    pub(super) gone: Vec<(u64, InodeNumber)>,
    /// Makes names of objects and ages of copies differ.
    pub(super) counter: u64,
    /// Files and bytes that were brought to the bucket.
    pub(super) brought: (u64, u64),
}
