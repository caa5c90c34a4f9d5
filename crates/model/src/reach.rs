//! From where a storage can be read.

/// Who can read a tier directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// This node only.
    Node,
    /// All nodes of the cluster.
    Shared,
    /// Machines outside too.
    World,
}

/// The words for it in sites and profiles.
pub(crate) const REACHES: [(&str, Reach); 3] =
    [("node", Reach::Node), ("shared", Reach::Shared), ("world", Reach::World)];
