//! Profiles: what columns are encoded with. One line each in [`PROFILES`].

use std::fmt;

use crate::codecs::{
    Candidates, FOR_BASES, FOR_BASES_QUICK, FOR_NAMES, FOR_QUALITIES, FOR_QUALITIES_QUICK,
};

/// Text of one mate that makes a group, unless a profile says less.
pub const GROUP_TEXT: usize = 4 << 20;

/// How an archive is made: as small as pays, sooner read, or in groups of which a few bytes are
/// sooner had. All that there are give archives that are read in the same way.
#[derive(Clone, Copy)]
pub struct Profile {
    /// What people ask for.
    pub name: &'static str,
    pub(crate) bases: Candidates,
    pub(crate) qualities: Candidates,
    pub(crate) names: Candidates,
    /// Bytes of a mate's text in a group, which is decoded as a whole.
    pub(crate) group_text: usize,
}

/// All there are; the first one where nobody asks.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        bases: FOR_BASES,
        qualities: FOR_QUALITIES,
        names: FOR_NAMES,
        group_text: GROUP_TEXT,
    },
    Profile {
        name: "fast",
        bases: FOR_BASES_QUICK,
        qualities: FOR_QUALITIES_QUICK,
        names: FOR_NAMES,
        group_text: GROUP_TEXT,
    },
    Profile {
        name: "random",
        bases: FOR_BASES,
        qualities: FOR_QUALITIES,
        names: FOR_NAMES,
        group_text: GROUP_TEXT / 8,
    },
];

impl Profile {
    /// The one of that name.
    #[must_use]
    pub fn find_by_name(name: &str) -> Option<Profile> {
        PROFILES.iter().find(|profile| profile.name == name).copied()
    }
}

impl Default for Profile {
    fn default() -> Profile {
        PROFILES[0]
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Profile({})", self.name)
    }
}
