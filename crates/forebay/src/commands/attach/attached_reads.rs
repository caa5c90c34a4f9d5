//! Archives of reads that are attached: what is one, and what can be in the way.

use std::path::Path;

use forebay_model::attached::{ExposedContent, ExposedReads};
use forebay_reads::MANIFEST;
use forebay_volume::reads::check_can_show;

use crate::exit::CommandError;
use crate::next_steps::reads_next_step;
use crate::placement;

/// What is there of an archive that was not finished, or that lost its manifest.
const PARTS: [&str; 2] = ["manifest.part", "index.fbr"];

/// What of a directory is to be shown: of an archive its reads, of others what lies in them.
pub(super) fn view_of_directory(
    source: &Path,
    shown: ExposedReads,
) -> Result<ExposedContent, CommandError> {
    let mut parts = std::iter::once(MANIFEST).chain(PARTS);
    let is_archive = parts.any(|part| source.join(part).symlink_metadata().is_ok());
    view_of_source(source, is_archive, shown)
}

/// The same, where it is known whether the source is an archive.
pub(super) fn view_of_source(
    source: &Path,
    is_archive: bool,
    shown: ExposedReads,
) -> Result<ExposedContent, CommandError> {
    let refuse = |why: &str, next: &str| {
        let message = format!("{} can't be attached: {why}", source.display());
        Err(CommandError::new(1, message, format!("{next}; nothing was attached")))
    };
    match is_archive {
        false if shown == ExposedReads::default() => Ok(ExposedContent::Files),
        false => refuse(
            "it is no archive of reads",
            "--shards and --lite are of archives, which `forebay reads pack` makes",
        ),
        true => match check_can_show(source, shown, &placement::bucket_settings()) {
            Ok(()) => Ok(ExposedContent::Reads(shown)),
            Err(trouble) => refuse(&trouble.to_string(), reads_next_step(&trouble)),
        },
    }
}

/// How it is told in the list.
pub(super) fn describe_view(shows: ExposedContent) -> Option<String> {
    let ExposedContent::Reads(ExposedReads { shards, lite }) = shows else {
        return (shows == ExposedContent::Plain).then(|| "plain FASTQ".to_owned());
    };
    let shards = shards.map_or_else(String::new, |shards| format!(", {shards} shards"));
    Some(format!("reads{shards}{}", if lite { ", lite" } else { "" }))
}
