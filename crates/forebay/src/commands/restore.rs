//! `forebay restore`: every file back in place, for good.

use std::path::{Path, PathBuf};

use forebay_os::clock::SystemClock;
use forebay_volume::tiers::{
    ProgressReporter, Purpose, Tiers, WriteBackScope, find_stray_links, write_back_files,
};

use crate::exit::{CommandError, FILES_AWAY};
use crate::placement::spare_directories;
use crate::{console, placement, write_back_progress};

/// Options of `forebay restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay restore .\n\n\
    Files that rules sent to other tiers (`forebay run --rules`) become plain files again, with \
    their times, modes and attributes. The end of a run does that by itself; this is for files \
    that a rule keeps on their tier, and after a crash. What is then left of Forebay is the \
    directory .forebay with the records of runs: rm -r it if nobody wants them.")]
pub(crate) struct Args {
    /// The directory that runs manage
    #[arg(default_value = ".")]
    directory: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let shown = args.directory.display().to_string();
    let directory = args.directory.canonicalize().map_err(|error| {
        CommandError::new(
            1,
            format!("{shown} can't be found: {error}"),
            "name a directory that exists",
        )
    })?;
    let tiers =
        Tiers::open(&directory, Purpose::Restore(&spare_directories())).map_err(|trouble| {
            CommandError::new(
                1,
                trouble.to_string(),
                "nothing was changed; `forebay check` says more",
            )
        })?;
    let Some(tiers) = tiers else {
        return Ok(if report_stray_links(&shown, &directory)? { 0 } else { FILES_AWAY });
    };
    if let Some(book) = tiers.removed_manifest() {
        console::note(&format!("{} was removed; its spare tells where files are", book.display()));
    }
    for missing in tiers.missing_tiers() {
        console::error(&missing, Some("mount what belongs there, then restore again"));
    }
    for foreign_directories in tiers.foreign_directories() {
        console::error(
            &foreign_directories,
            Some("if .forebay came here from elsewhere, remove it"),
        );
    }
    let clock = SystemClock::start();
    let progress = ProgressReporter::new(&clock, &write_back_progress::show_progress);
    let home = write_back_files(&directory, &tiers, WriteBackScope::All, &progress);
    console::clear_passing_line();
    let told = home.to_report(&directory);
    let at_home = placement::report_write_back(&told);
    for path in &home.nameless {
        console::note(&format!("no name leads to {}", path.display()));
    }
    if home.brought.0 == 0 && at_home {
        console::note(&format!("no file of {shown} was on another tier"));
    }
    Ok(if at_home { 0 } else { FILES_AWAY })
}

/// Nothing says that files of a directory are on tiers: says whether links do. True if none does.
pub(super) fn report_stray_links(shown: &str, directory: &Path) -> Result<bool, CommandError> {
    let found = find_stray_links(directory).map_err(|error| {
        CommandError::new(
            1,
            format!("{shown} can't be read: {error}"),
            "do it as its owner, or as root",
        )
    })?;
    let closed = found.closed.first().map(|first| {
        let more = match found.closed.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more directories"),
        };
        let (path, why) = (first.path.display(), &first.why);
        let message = format!("{path} of {shown} may not be looked into: {why}{more}");
        CommandError::new(1, message, "do it as its owner, or as root")
    });
    let Some((link, target)) = found.first else {
        if let Some(stop) = closed {
            return Err(stop);
        }
        console::note(&format!("no file of {shown} is on another tier"));
        return Ok(true);
    };
    let message = format!(
        "{} of {shown} are links to a tier (first: {} -> {}), and .forebay/volume.json, which says \
         that they are its files, is gone, and so is its spare in the state directory",
        placement::count_files(found.count),
        link.display(),
        target.display()
    );
    let next = "restore with the XDG_STATE_HOME and HOME of the run; else copy each file from where \
                its link leads (cp --remove-destination \"$(readlink F)\" F)";
    console::error(&message, Some(next));
    if let Some(stop) = closed {
        console::error(&stop.message, stop.next.as_deref());
    }
    Ok(false)
}
