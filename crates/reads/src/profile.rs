//! Profiles: what columns are encoded with. One line each in [`PROFILES`].

use std::fmt;

use crate::codecs::{
    CodecCandidates, FOR_BASES, FOR_BASES_QUICK, FOR_NAMES, FOR_QUALITIES, FOR_QUALITIES_QUICK,
};

/// Text of one mate that makes a group, unless a profile says less.
pub const GROUP_TEXT: usize = 4 << 20;

/// How an archive is made: as small as pays, sooner read, or in groups of which a few bytes are
/// sooner had. All that there are give archives that are read in the same way.
#[derive(Clone, Copy)]
pub struct PackProfile {
    /// What people ask for.
    pub name: &'static str,
    pub(crate) bases: CodecCandidates,
    pub(crate) qualities: CodecCandidates,
    pub(crate) names: CodecCandidates,
    /// Bytes of a mate's text in a group, which is decoded as a whole.
    pub(crate) group_text: usize,
}

/// All there are; the first one where nobody asks.
pub const PROFILES: &[PackProfile] = &[
    PackProfile {
        name: "default",
        bases: FOR_BASES,
        qualities: FOR_QUALITIES,
        names: FOR_NAMES,
        group_text: GROUP_TEXT,
    },
    PackProfile {
        name: "fast",
        bases: FOR_BASES_QUICK,
        qualities: FOR_QUALITIES_QUICK,
        names: FOR_NAMES,
        group_text: GROUP_TEXT,
    },
    PackProfile {
        name: "random",
        bases: FOR_BASES,
        qualities: FOR_QUALITIES,
        names: FOR_NAMES,
        group_text: GROUP_TEXT / 8,
    },
];

impl PackProfile {
    /// The one of that name.
    #[must_use]
    pub fn find_by_name(name: &str) -> Option<PackProfile> {
        PROFILES.iter().find(|profile| profile.name == name).copied()
    }
}

impl Default for PackProfile {
    fn default() -> PackProfile {
        PROFILES[0]
    }
}

impl fmt::Debug for PackProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Profile({})", self.name)
    }
}
