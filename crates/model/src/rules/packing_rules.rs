//! Packed files share one tier.

use super::{FileLayout, FileLocation, Placement, Rules};
use crate::site::TierId;
use crate::toml::{ConfigError, TomlTable};

/// The tier of packed files, if any rule packs.
pub(super) fn packed_tier(placements: &[Placement]) -> Option<&TierId> {
    placements.iter().filter(|one| one.layout.is_packed()).find_map(|one| match &one.home {
        FileLocation::Tier(tier) => Some(tier),
        FileLocation::Here => None,
    })
}

impl Rules {
    /// The same with all files as files of their own: names in a log are seen on this machine alone.
    pub fn without_packing(mut self) -> Self {
        for placement in self.placements.iter_mut().filter(|one| one.layout.is_packed()) {
            placement.layout = FileLayout::Plain;
        }
        self
    }
}

/// Packed files share one log, which says in which order things happened to all of them.
pub(super) fn check_one_packed_tier(
    earlier: &[Placement],
    placement: &Placement,
    table: TomlTable<'_>,
) -> Result<(), ConfigError> {
    match (packed_tier(earlier), packed_tier(std::slice::from_ref(placement))) {
        (Some(first), Some(second)) if first != second => {
            let message = format!("packed files share one tier, and an earlier rule says {first}");
            Err(table.get_required("home")?.value_error(message))
        }
        _ => Ok(()),
    }
}
