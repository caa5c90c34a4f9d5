//! What rules say of fsync.

use super::Rules;

pub(super) const FSYNCS: [(&str, Fsync); 3] =
    [("durable", Fsync::Durable), ("ordered", Fsync::Ordered), ("scratch", Fsync::Scratch)];

/// What an fsync of a file on a tier does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// What fsync always does.
    #[default]
    Durable,
    /// It returns at once, and the bytes are made durable right after, in the order of the calls.
    Ordered,
    /// It returns at once: a power failure may take the file.
    Scratch,
}

impl Rules {
    /// Whether some rule has this to say of fsync.
    pub fn syncs(&self, fsync: Fsync) -> bool {
        self.placements.iter().any(|placement| placement.fsync == fsync)
    }
}
