//! What can be warmed: a tree whose files are somewhere else, in part.

use std::sync::Arc;

use rustix::io::Errno;

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFile {
    /// From the tree's root.
    pub(crate) path: Vec<u8>,
    /// Bytes.
    pub(crate) size: u64,
}

/// How many bytes of a file have come so far.
pub(crate) type BytesHere = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A tree that is served.
pub(crate) trait WarmSource: std::fmt::Debug + Send + Sync {
    /// Hands over each file at a path or below it; links are none. What can't be looked into goes to
    /// `failed`.
    fn for_each_file(
        &self,
        path: &[u8],
        found: &mut dyn FnMut(FoundFile),
        failed: &mut dyn FnMut(&[u8], Errno),
    );

    /// Brings the bytes of a file to this node's disk. Where they are not all here, `begin` hears of
    /// how many of them are.
    ///
    /// # Errors
    /// Those of the tree, of the bucket, and of the disk.
    fn bring_file(&self, path: &[u8], begin: &mut dyn FnMut(BytesHere)) -> Result<(), Errno>;
}
