//! What is to become of a file at the end of a run.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use forebay_model::{FileLocation, Placement, RunEndAction};

use super::super::{CreatorKey, Tiers};
use super::tiered_links::LinkGroup;

/// By the rules of the names that it has now: whoever would have it home has it home.
/// What was to be published and then discarded comes home when the run did not succeed.
pub(super) fn action_for_group(tiers: &Tiers, group: &LinkGroup, succeeded: bool) -> RunEndAction {
    let room = tiers.tier_directory(&group.placed);
    let of = |path: &PathBuf| match tiers
        .rule_for_file(path.as_os_str().as_bytes(), || group.placed.creator_key())
    {
        Some(rule) if matches!(&rule.home, FileLocation::Tier(tier) if *tier == room.tier) => {
            action_for_rule(rule, succeeded)
        }
        // Renamed to where another rule holds: it belongs in place.
        Some(_) => RunEndAction::Restore,
        None => RunEndAction::Keep,
    };
    combined_action(&group.link_paths().map(of).collect::<Vec<_>>())
}

/// The same for a packed file.
pub(super) fn action_for_packed(
    tiers: &Tiers,
    ino: u64,
    paths: impl Iterator<Item = PathBuf>,
    succeeded: bool,
) -> RunEndAction {
    let of = |path: PathBuf| match tiers
        .rule_for_file(path.as_os_str().as_bytes(), || CreatorKey::Packed(ino))
    {
        Some(rule) if rule.layout.is_packed() => action_for_rule(rule, succeeded),
        Some(_) => RunEndAction::Restore,
        None => RunEndAction::Keep,
    };
    combined_action(&paths.map(of).collect::<Vec<_>>())
}

fn action_for_rule(rule: &Placement, succeeded: bool) -> RunEndAction {
    match rule.after {
        RunEndAction::Discard if rule.publish.is_some() && !succeeded => RunEndAction::Restore,
        after => after,
    }
}

fn combined_action(all: &[RunEndAction]) -> RunEndAction {
    match () {
        () if all.contains(&RunEndAction::Restore) => RunEndAction::Restore,
        () if all.contains(&RunEndAction::Keep) => RunEndAction::Keep,
        () => RunEndAction::Discard,
    }
}
