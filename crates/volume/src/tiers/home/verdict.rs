//! What is to become of a file at the end of a run.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use forebay_model::{After, Home};

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
    let all: Vec<After> = group.paths().map(of).collect();
    match () {
        () if all.contains(&After::Restore) => After::Restore,
        () if all.contains(&After::Keep) => After::Keep,
        () => After::Discard,
    }
}
