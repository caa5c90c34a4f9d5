//! Profiles: what columns are encoded with. One line each in [`PROFILES`].

use std::fmt;

use crate::codecs::{
    Candidates, FOR_BASES, FOR_BASES_QUICK, FOR_NAMES, FOR_QUALITIES, FOR_QUALITIES_QUICK,
};

/// How an archive is made: as small as pays, or sooner read. All that there are give archives that
/// are read in the same way.
#[derive(Clone, Copy)]
pub struct Profile {
    /// What people ask for.
    pub name: &'static str,
    pub(crate) bases: Candidates,
    pub(crate) qualities: Candidates,
    pub(crate) names: Candidates,
}

/// All there are; the first one where nobody asks.
pub const PROFILES: &[Profile] = &[
    Profile { name: "default", bases: FOR_BASES, qualities: FOR_QUALITIES, names: FOR_NAMES },
    Profile {
        name: "fast",
        bases: FOR_BASES_QUICK,
        qualities: FOR_QUALITIES_QUICK,
        names: FOR_NAMES,
    },
];

impl Profile {
    /// The one of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Profile> {
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
