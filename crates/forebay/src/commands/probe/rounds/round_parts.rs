//! What is measured together in one go.

use crate::commands::probe::measured_figures::Figure;

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Absent,
    Small,
    Syncs,
    Dirs,
    Links,
    Present,
    Names(u32),
    Data(u32),
}

impl Part {
    /// At most so many times in a round.
    pub(super) const fn repetitions_max(self) -> u64 {
        match self {
            Part::Absent => 8,
            Part::Small | Part::Syncs | Part::Names(_) => 6,
            Part::Links | Part::Present => 4,
            Part::Dirs => 2,
            Part::Data(_) => 1,
        }
    }

    /// At how many threads it is measured, and the figures that say whether it is known.
    pub(super) const fn deciding_figures(self) -> (u32, &'static [Figure]) {
        match self {
            Part::Absent => (1, &[Figure::Absent, Figure::Getattr]),
            Part::Small => (1, &[Figure::Create, Figure::Small, Figure::Open, Figure::Rename]),
            Part::Syncs => (1, &[Figure::Fsync, Figure::Fsyncdir]),
            Part::Dirs => (1, &[Figure::Mkdir, Figure::Opendir, Figure::Readdir, Figure::Rmdir]),
            Part::Links => (1, &[Figure::Symlink, Figure::Readlink, Figure::Link]),
            Part::Present => (1, &[Figure::Present]),
            Part::Names(threads) => (threads, &[Figure::Names]),
            Part::Data(threads) => (threads, &[Figure::Write, Figure::Read]),
        }
    }
}
