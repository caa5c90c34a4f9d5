//! What is measured together in one go.

use crate::commands::probe::measured_figures::Figure;

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RoundPart {
    Absent,
    Small,
    Syncs,
    Dirs,
    Links,
    Present,
    Names(u32),
    Data(u32),
}

impl RoundPart {
    /// At most so many times in a round.
    pub(super) const fn repetitions_max(self) -> u64 {
        match self {
            RoundPart::Absent => 8,
            RoundPart::Small | RoundPart::Syncs | RoundPart::Names(_) => 6,
            RoundPart::Links | RoundPart::Present => 4,
            RoundPart::Dirs => 2,
            RoundPart::Data(_) => 1,
        }
    }

    /// At how many threads it is measured, and the figures that say whether it is known.
    pub(super) const fn deciding_figures(self) -> (u32, &'static [Figure]) {
        match self {
            RoundPart::Absent => (1, &[Figure::Absent, Figure::Getattr]),
            RoundPart::Small => (1, &[Figure::Create, Figure::Small, Figure::Open, Figure::Rename]),
            RoundPart::Syncs => (1, &[Figure::Fsync, Figure::Fsyncdir]),
            RoundPart::Dirs => {
                (1, &[Figure::Mkdir, Figure::Opendir, Figure::Readdir, Figure::Rmdir])
            }
            RoundPart::Links => (1, &[Figure::Symlink, Figure::Readlink, Figure::Link]),
            RoundPart::Present => (1, &[Figure::Present]),
            RoundPart::Names(threads) => (threads, &[Figure::Names]),
            RoundPart::Data(threads) => (threads, &[Figure::Write, Figure::Read]),
        }
    }
}
