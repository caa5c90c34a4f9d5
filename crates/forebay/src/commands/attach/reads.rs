//! Archives of reads that are attached: what is one, and what can be in the way.

use std::num::NonZeroU32;
use std::path::Path;

use forebay_model::attached::Shows;
use forebay_reads::{Kind, MANIFEST};
use forebay_volume::reads::{Trouble, can_show};
use forebay_volume::store::Failed;

use super::bucket;
use crate::exit::Stop;
use crate::placement;

/// What is there of an archive that was not finished, or that lost its manifest.
const PARTS: [&str; 2] = ["manifest.part", "index.fbr"];

/// What of a directory is to be shown: of an archive its reads, of others what lies in them.
pub(super) fn of_directory(source: &Path, shards: Option<NonZeroU32>) -> Result<Shows, Stop> {
    let mut parts = std::iter::once(MANIFEST).chain(PARTS);
    let is_archive = parts.any(|part| source.join(part).symlink_metadata().is_ok());
    shows(source, is_archive, shards)
}

/// The same, where it is known whether the source is an archive.
pub(super) fn shows(
    source: &Path,
    is_archive: bool,
    shards: Option<NonZeroU32>,
) -> Result<Shows, Stop> {
    let refuse = |why: &str, next: &str| {
        let message = format!("{} can't be attached: {why}", source.display());
        Err(Stop::new(1, message, format!("{next}; nothing was attached")))
    };
    match (is_archive, shards) {
        (false, None) => Ok(Shows::Files),
        (false, Some(_)) => refuse(
            "it is no archive of reads",
            "--shards are of archives, which `forebay reads pack` makes",
        ),
        (true, shards) => match can_show(source, shards, &placement::settings()) {
            Ok(()) => Ok(Shows::Reads { shards }),
            Err(trouble) => refuse(&trouble.to_string(), next_of(&trouble)),
        },
    }
}

pub(in crate::commands) fn next_of(trouble: &Trouble) -> &'static str {
    if let Some(kind) = trouble.bucket {
        return bucket::next_of(&Failed { kind, why: trouble.why.clone() });
    }
    match trouble.kind {
        Kind::Damaged => {
            "`forebay reads verify` tells all that is damaged; fetch those files again, or pack the \
             reads again"
        }
        Kind::Unknown => "use a newer Forebay",
        Kind::Request => "`forebay reads info` says what is in it",
        Kind::Changed => "ask again: another archive is there now, or none",
        Kind::Input | Kind::Io => "see that it is there, and yours to read",
    }
}

/// How it is told in the list.
pub(super) fn told(shows: Shows) -> Option<String> {
    match shows {
        Shows::Files => None,
        Shows::Reads { shards: None } => Some("reads".to_owned()),
        Shows::Reads { shards: Some(shards) } => Some(format!("reads, {shards} shards")),
    }
}
