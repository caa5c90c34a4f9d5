//! Who serves a volume's local tree to programs, as far as its bucket needs to know.

use std::fmt::Debug;
use std::sync::Arc;

use forebay_os::files::FileIdentity;
use forebay_os::short::ShortName;

use super::{Follow, Mirror};

/// Serves the local tree.
pub(crate) trait TreeServer: Debug + Send + Sync {
    /// Whether a file is open to be written.
    fn is_written(&self, file: &FileIdentity) -> bool;

    /// Whether anybody has a file open.
    fn is_open(&self, file: &FileIdentity) -> bool;

    /// Files that were open to be written when the mount went.
    fn left_open(&self) -> Vec<FileIdentity>;

    /// Names in folders that lead elsewhere, and files whose attributes are others: the kernel asks
    /// for them again.
    fn forget(&self, names: &[(FileIdentity, ShortName)], files: &[FileIdentity]);
}

/// What keeps the tree in step with its bucket.
#[derive(Debug)]
pub(crate) enum Keeper {
    /// This machine writes the volume.
    Writer(Arc<Mirror>),
    /// Another one does.
    Reader(Arc<Follow>),
}
