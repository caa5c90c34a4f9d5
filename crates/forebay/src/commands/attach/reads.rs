//! Archives of reads that are attached: what is one, and what can be in the way.

use std::num::NonZeroU32;
use std::path::Path;

use forebay_model::attached::Shows;
use forebay_reads::{Kind, MANIFEST};
use forebay_volume::reads::{Trouble, can_show};

use crate::exit::Stop;

/// What is there of an archive that was not finished, or that lost its manifest.
const PARTS: [&str; 2] = ["manifest.part", "index.fbr"];

/// What of a directory is to be shown: of an archive its reads, of others what lies in them.
pub(super) fn shows(source: &Path, shards: Option<NonZeroU32>) -> Result<Shows, Stop> {
    let mut parts = std::iter::once(MANIFEST).chain(PARTS);
    let is_archive = parts.any(|part| source.join(part).symlink_metadata().is_ok());
    let refuse = |why: String, next: &str| {
        let message = format!("{} can't be attached: {why}", source.display());
        Err(Stop::new(1, message, format!("{next}; nothing was attached")))
    };
    if !is_archive {
        return match shards {
            Some(_) => refuse(
                "it is no archive of reads".to_owned(),
                "--shards are of archives, which `forebay reads pack` makes",
            ),
            None => Ok(Shows::Files),
        };
    }
    match can_show(source, shards) {
        Ok(()) => Ok(Shows::Reads { shards }),
        Err(trouble) => refuse(trouble.to_string(), next_of(&trouble)),
    }
}

pub(super) fn next_of(trouble: &Trouble) -> &'static str {
    match trouble.kind {
        Kind::Damaged => {
            "`forebay reads verify` tells all that is damaged; fetch those files again, or pack the \
             reads again"
        }
        Kind::Unknown => "use a newer Forebay",
        Kind::Request => "`forebay reads info` says what is in it",
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
