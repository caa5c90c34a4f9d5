//! The words that rules choose from, each with what it means.

pub(super) const LAYOUTS: [(&str, FileLayout); 3] =
    [("plain", FileLayout::Plain), ("packed", FileLayout::Packed), ("apart", FileLayout::Apart)];
pub(super) const FULLS: [(&str, FullTierPolicy); 2] =
    [("spill", FullTierPolicy::Spill), ("fail", FullTierPolicy::Fail)];
pub(super) const FSYNCS: [(&str, FsyncMode); 3] = [
    ("durable", FsyncMode::Durable),
    ("ordered", FsyncMode::Ordered),
    ("scratch", FsyncMode::Scratch),
];
pub(super) const AFTERS: [(&str, RunEndAction); 3] = [
    ("restore", RunEndAction::Restore),
    ("keep", RunEndAction::Keep),
    ("discard", RunEndAction::Discard),
];

/// How a file lies on its tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileLayout {
    /// As a file of its own; a link in place leads to it.
    #[default]
    Plain,
    /// Together with others in one log, as long as it is small; nothing of it is in place.
    Packed,
    /// Its name in that log, its bytes in a file of their own from the start.
    Apart,
    /// As a file of the tier alone, in a folder that is there as a whole (`whole_folder`).
    Whole,
}

impl FileLayout {
    /// Whether the name is in the log of packed files.
    pub fn is_packed(self) -> bool {
        matches!(self, FileLayout::Packed | FileLayout::Apart)
    }
}

/// What happens when the tier is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FullTierPolicy {
    /// The file stays in place.
    #[default]
    Spill,
    /// The write fails with ENOSPC.
    Fail,
}

/// What an fsync of a file on a tier does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FsyncMode {
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
pub enum RunEndAction {
    /// It becomes a plain file in place.
    #[default]
    Restore,
    /// It stays on the tier, and a link leads there.
    Keep,
    /// It is deleted.
    Discard,
}
