//! The words that rules choose from, each with what it means.

pub(super) const LAYOUTS: [(&str, Layout); 3] =
    [("plain", Layout::Plain), ("packed", Layout::Packed), ("apart", Layout::Apart)];
pub(super) const FULLS: [(&str, Full); 2] = [("spill", Full::Spill), ("fail", Full::Fail)];
pub(super) const FSYNCS: [(&str, Fsync); 3] =
    [("durable", Fsync::Durable), ("ordered", Fsync::Ordered), ("scratch", Fsync::Scratch)];
pub(super) const AFTERS: [(&str, After); 3] =
    [("restore", After::Restore), ("keep", After::Keep), ("discard", After::Discard)];

/// How a file lies on its tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// As a file of its own; a link in place leads to it.
    #[default]
    Plain,
    /// Together with others in one log, as long as it is small; nothing of it is in place.
    Packed,
    /// Its name in that log, its bytes in a file of their own from the start.
    Apart,
}

impl Layout {
    /// Whether the name is in the log of packed files.
    pub fn is_packed(self) -> bool {
        self != Layout::Plain
    }
}

/// What happens when the tier is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Full {
    /// The file stays in place.
    #[default]
    Spill,
    /// The write fails with ENOSPC.
    Fail,
}

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

/// What becomes of a file on a tier when the run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// It becomes a plain file in place.
    #[default]
    Restore,
    /// It stays on the tier, and a link leads there.
    Keep,
    /// It is deleted.
    Discard,
}
