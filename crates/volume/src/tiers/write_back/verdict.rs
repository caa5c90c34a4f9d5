//! What is to become of a file at the end of a run.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use forebay_model::{After, Home, Placement};

use super::super::{Maker, Tiers};
use super::find::Group;

/// By the rules of the names that it has now: whoever would have it home has it home.
/// What was to be published and then discarded comes home when the run did not succeed.
pub(super) fn after(tiers: &Tiers, group: &Group, succeeded: bool) -> After {
    let room = tiers.room(&group.placed);
    let of = |path: &PathBuf| match tiers
        .rule_of(path.as_os_str().as_bytes(), || group.placed.maker())
    {
        Some(rule) if matches!(&rule.home, Home::Tier(tier) if *tier == room.tier) => {
            of_rule(rule, succeeded)
        }
        // Renamed to where another rule holds: it belongs in place.
        Some(_) => After::Restore,
        None => After::Keep,
    };
    joined(&group.paths().map(of).collect::<Vec<_>>())
}

/// The same for a packed file.
pub(super) fn after_packed(
    tiers: &Tiers,
    ino: u64,
    paths: impl Iterator<Item = PathBuf>,
    succeeded: bool,
) -> After {
    let of = |path: PathBuf| match tiers.rule_of(path.as_os_str().as_bytes(), || Maker::Packed(ino))
    {
        Some(rule) if rule.layout.is_packed() => of_rule(rule, succeeded),
        Some(_) => After::Restore,
        None => After::Keep,
    };
    joined(&paths.map(of).collect::<Vec<_>>())
}

fn of_rule(rule: &Placement, succeeded: bool) -> After {
    match rule.after {
        After::Discard if rule.publish.is_some() && !succeeded => After::Restore,
        after => after,
    }
}

fn joined(all: &[After]) -> After {
    match () {
        () if all.contains(&After::Restore) => After::Restore,
        () if all.contains(&After::Keep) => After::Keep,
        () => After::Discard,
    }
}
