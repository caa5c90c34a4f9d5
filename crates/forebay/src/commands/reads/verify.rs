//! `forebay reads verify`.

use std::path::PathBuf;

use crate::console;
use crate::exit::CommandError;

/// Options of `forebay reads verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay reads verify x.reads\n\n\
    Reads all objects, compares their lengths and every checksum, decodes every group, and \
    compares MD5 and SHA-256 of what comes out with those of what was packed. Each damage is told \
    with object, bytes, column and group (the first hundred).\n\n\
    Exit codes: 0 if all is as it was written, else 1, also where something can't be read.")]
pub(super) struct Verify {
    /// An archive: a directory, or s3://BUCKET/PREFIX
    archive: PathBuf,
    /// Threads that decode [default: as many as there are cores]
    #[arg(short, long)]
    threads: Option<usize>,
    /// Print nothing if all is well
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Verify) -> Result<i32, CommandError> {
    let archive = super::open_archive(&args.archive)?;
    let verdict = archive
        .verify(super::thread_count(args.threads), super::progress_reporter("verified", "of text"));
    let verdict = verdict.map_err(|error| super::archive_error(&args.archive, &error))?;
    console::clear_passing_line();
    let dir = args.archive.display();
    for problem in verdict.problems.iter().chain(&verdict.unread) {
        console::error(&format!("{dir}: {problem}"), None);
    }
    if !verdict.problems.is_empty() {
        let message = format!("{dir} is damaged: {} problems", verdict.problems.len());
        return Err(CommandError::new(
            1,
            message,
            "fetch the objects that are named again, or pack anew",
        ));
    }
    if !verdict.unread.is_empty() {
        let message = format!("{dir} was not read whole: of what is named nothing is known");
        return Err(CommandError::new(
            1,
            message,
            "see that all of it is yours to read, and ask again",
        ));
    }
    if !args.quiet {
        let (groups, bytes) = (verdict.groups, console::group_thousands(verdict.text_bytes));
        console::note(&format!("{dir} is whole: {groups} groups, {bytes} bytes of text"));
    }
    Ok(0)
}
