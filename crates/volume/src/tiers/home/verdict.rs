//! What is to become of a file at the end of a run.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use forebay_model::{After, Home, Layout};

use super::super::Tiers;
use super::find::Group;

/// By the rules of the names that it has now: whoever would have it home has it home.
pub(super) fn after(tiers: &Tiers, group: &Group) -> After {
    let room = tiers.room(&group.placed);
    let of = |path: &PathBuf| match tiers.rule(path.as_os_str().as_bytes()) {
        Some(rule) if matches!(&rule.home, Home::Tier(tier) if *tier == room.tier) => rule.after,
        // Renamed to where another rule holds: it belongs in place.
        Some(_) => After::Restore,
        None => After::Keep,
    };
    joined(&group.paths().map(of).collect::<Vec<_>>())
}

/// The same for a packed file.
pub(super) fn after_packed(tiers: &Tiers, paths: impl Iterator<Item = PathBuf>) -> After {
    let of = |path: PathBuf| match tiers.rule(path.as_os_str().as_bytes()) {
        Some(rule) if rule.layout == Layout::Packed => rule.after,
        Some(_) => After::Restore,
        None => After::Keep,
    };
    joined(&paths.map(of).collect::<Vec<_>>())
}

fn joined(all: &[After]) -> After {
    match () {
        () if all.contains(&After::Restore) => After::Restore,
        () if all.contains(&After::Keep) => After::Keep,
        () => After::Discard,
    }
}
