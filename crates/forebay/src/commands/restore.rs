//! `forebay restore`: every file back in place, for good.

use std::path::PathBuf;

use forebay_volume::clock::SystemClock;
use forebay_volume::tiers::{Progress, Purpose, Tiers, Which, bring_home};

use crate::exit::{FILES_AWAY, Stop};
use crate::{placement, say, underway};

/// Options of `forebay restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay restore .\n\n\
    Files that rules sent to other tiers (`forebay run --rules`) become plain files again, with \
    their times, modes and attributes. The end of a run does that by itself; this is for files \
    that a rule keeps on their tier, and after a crash. What is then left of Forebay is the \
    directory .forebay with the records of runs: rm -r it if nobody wants them.")]
pub(crate) struct Args {
    /// The directory that runs covered
    #[arg(default_value = ".")]
    directory: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let shown = args.directory.display().to_string();
    let directory = args.directory.canonicalize().map_err(|error| {
        Stop::new(1, format!("{shown} can't be found: {error}"), "name a directory that exists")
    })?;
    let tiers = Tiers::open(&directory, Purpose::Restore).map_err(|trouble| {
        Stop::new(1, trouble.to_string(), "nothing was changed; `forebay check` says more")
    })?;
    let Some(tiers) = tiers else {
        say::note(&format!("no file of {shown} is on another tier"));
        return Ok(0);
    };
    for missing in tiers.missing() {
        say::error(&missing, Some("mount what belongs there, then restore again"));
    }
    for foreign in tiers.foreign() {
        say::error(&foreign, Some("if .forebay came here from elsewhere, remove it"));
    }
    let clock = SystemClock::start();
    let progress = Progress::new(&clock, &underway::show);
    let home = bring_home(&directory, &tiers, Which::All, &progress);
    say::clear();
    let told = home.told(&directory);
    let at_home = placement::tell(&told);
    for path in &home.nameless {
        say::note(&format!("no name leads to {}", path.display()));
    }
    if home.brought.0 == 0 && at_home {
        say::note(&format!("no file of {shown} was on another tier"));
    }
    Ok(if at_home { 0 } else { FILES_AWAY })
}
