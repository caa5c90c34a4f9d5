//! What a node knows of the locks on one file.

use forebay_book::NodeId;

use crate::locks::LockTable;

/// What a node knows of the locks on a file.
#[derive(Debug, Default)]
pub(super) struct FileLocks {
    /// Those of its own programs.
    pub(super) table: LockTable,
    /// They were lost with the lease: who had them does not change the file any more.
    pub(super) are_lost: bool,
    /// The node whose lock was in the way the last time: it is asked before the folder is taken.
    pub(super) refused_by: Option<NodeId>,
    /// Until this moment of the node's clock somebody on another node waits, as far as is known.
    pub(super) others_wait_until: u64,
    /// Until this moment they come first.
    pub(super) turn_of_others: u64,
}
