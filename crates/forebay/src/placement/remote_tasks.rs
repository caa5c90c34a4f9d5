//! Tasks on other machines never miss a file: a command that sends tasks away is refused, or its
//! rules lose what could not be kept there.

mod engine_settings;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use forebay_model::Reach;
use forebay_model::tasks::{find_engine, find_remote_executor};
use forebay_volume::tiers::PlacementOptions;

use crate::console;
use crate::exit::{CommandError, NOTHING_RUN};

/// Refuses a command whose tasks run on other machines, where files on a tier of this node would
/// be missed. Names of packed files would be, too: these become files of their own.
pub(crate) fn check_command(
    wanted: &mut PlacementOptions,
    command: &[OsString],
) -> Result<(), CommandError> {
    if !wanted.binds_to_this_machine() {
        return Ok(());
    }
    let words: Vec<Vec<u8>> = command.iter().map(|word| word.as_bytes().to_vec()).collect();
    let config = find_engine(&words).map(|(at, engine)| {
        engine_settings::engine_configuration(engine, &words[at], &words[at + 1..])
    });
    let Some(what) = find_remote_executor(&words, &config.unwrap_or_default()) else {
        return Ok(());
    };
    if let Some(tier) = node_tier(wanted) {
        return Err(CommandError::new(
            NOTHING_RUN,
            format!(
                "{what} sends tasks to other machines, and tier {tier} is on this node alone: they \
                 would not find their files"
            ),
            "use a tier with reach = \"shared\", or run without rules, or in a volume that several \
             nodes write (`forebay mount --book`), where files are on the nodes that make them; \
             nothing was run",
        ));
    }
    console::note(&format!(
        "{what} sends tasks to other machines, which do not see names of packed files: rules with \
         layout = \"packed\" or \"apart\" make plain files on their tier"
    ));
    wanted.rules = wanted.rules.clone().without_packing();
    Ok(())
}

/// A program that sends tasks away has been started, though nothing told so before: files that
/// rules have placed already are missed there.
pub(crate) fn report_sent_away(program: &str) {
    console::note(&format!(
        "{program} was started: tasks on other machines do not find files that rules keep on this \
         node alone, nor names of packed files; use a tier with reach = \"shared\" for them, and no \
         layout"
    ));
}

/// A tier of this node alone on which files are to live.
fn node_tier(wanted: &PlacementOptions) -> Option<String> {
    let mut tiers = wanted.rules.home_tiers().into_iter().filter_map(|id| wanted.site.tier(id));
    tiers.find(|tier| tier.reach == Reach::Node).map(|tier| tier.id.to_string())
}
