//! `forebay check`: whether all files on tiers are there and whole, or a volume in a bucket is.

mod bucket_check;

use std::path::{Path, PathBuf};

use forebay_model::ByteCount;
use forebay_volume::tiers::{Purpose, TierCheckReport, TierError, Tiers, check_volume};

use super::mount::bucket_volume::as_bucket_url;
use super::restore::report_stray_links;
use crate::exit::CommandError;
use crate::placement::spare_directories;
use crate::{console, foreign};

/// Options of `forebay check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay check .\n  \
    forebay check s3://lab/volume --repair      a volume that a bucket keeps\n\n\
    Looks at every file of a directory that lies on another tier or is packed, and reads all \
    packed bytes. Of a volume in a bucket: the log, the objects of large files (there, and in the \
    state that the log says), all bytes of small ones, and objects that no file has. Status 0: all \
    is well; 1: something is wrong, or it could not be looked at.")]
pub(crate) struct Args {
    /// The directory that runs manage, or s3://BUCKET/PREFIX
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Write a damaged log of packed files anew with all that is whole; the damaged one is kept. In
    /// a bucket: remove what Forebay wrote and no file has, and what the log does not need any more
    #[arg(long)]
    repair: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    foreign::refuse_foreign_url(&args.directory, 1)?;
    if let Some(url) = as_bucket_url(&args.directory) {
        return bucket_check::run_bucket_check(url, args.repair);
    }
    let shown = args.directory.display().to_string();
    let directory = args.directory.canonicalize().map_err(|error| {
        CommandError::new(
            1,
            format!("{shown} can't be found: {error}"),
            "name a directory that exists",
        )
    })?;
    let Some(tiers) = open_tiers(&directory, args.repair)? else {
        return Ok(if report_stray_links(&shown, &directory)? { 0 } else { 1 });
    };
    if let Some((kept, lost)) = tiers.salvaged_log() {
        let lost = ByteCount(lost);
        let kept = kept.display();
        console::note(&format!(
            "the log was written anew, without {lost} that are damaged ({kept})"
        ));
    }
    let checked = check_volume(&tiers).map_err(|error| {
        CommandError::new(
            1,
            format!("{shown} can't be read: {error}"),
            "check as its owner, or as root",
        )
    })?;
    report_findings(&shown, &checked);
    Ok(if checked.findings.is_empty() { 0 } else { 1 })
}

fn open_tiers(directory: &Path, repair: bool) -> Result<Option<Tiers>, CommandError> {
    let stop = |trouble: TierError| {
        let next = match trouble.error.to_string().contains("is damaged") {
            true => "`forebay check --repair` saves what is whole; nothing was changed",
            false => "nothing was changed",
        };
        CommandError::new(1, trouble.to_string(), next)
    };
    let spares = spare_directories();
    let purpose = if repair { Purpose::Repair(&spares) } else { Purpose::Restore(&spares) };
    Tiers::open(directory, purpose).map_err(stop)
}

fn report_findings(shown: &str, checked: &TierCheckReport) {
    let amount = |(files, bytes): (u64, u64)| format!("{files} ({})", ByteCount(bytes));
    console::note(&format!(
        "{shown}: files on tiers: {}, packed: {}",
        amount(checked.placed),
        amount(checked.packed)
    ));
    for finding in &checked.findings {
        console::error(
            &format!("{}: {}", finding.path.display(), finding.what),
            Some(finding.next),
        );
    }
    if checked.findings.is_empty() {
        console::note("all are there and whole");
    }
}
