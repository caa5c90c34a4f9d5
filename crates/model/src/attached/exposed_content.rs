//! What of a source is shown, and how an entry of the list says so.

use std::fmt::Write;
use std::num::NonZeroU32;

use super::SHARDS_MAX;
use crate::toml::{ConfigError, TomlTable};

/// What is shown of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExposedContent {
    /// What lies in it.
    #[default]
    Files,
    /// It is an archive of reads: the FASTQ that was packed.
    Reads(ExposedReads),
    /// It is a file of reads, or a directory of some: their plain FASTQ.
    Plain,
}

/// How reads of an archive are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExposedReads {
    /// Dealt out into so many parts, too, if any.
    pub shards: Option<NonZeroU32>,
    /// Without their qualities: each is `?`.
    pub lite: bool,
}

impl ExposedContent {
    /// As an entry of the list says.
    pub(super) fn from_table(table: TomlTable<'_>) -> Result<ExposedContent, ConfigError> {
        let shards = match table.get("shards") {
            Some(entry) => NonZeroU32::new(entry.as_integer(1, SHARDS_MAX)?),
            None => None,
        };
        let lite = table.get("lite").map(|entry| entry.as_bool()).transpose()?.unwrap_or_default();
        let reads = ExposedContent::Reads(ExposedReads { shards, lite });
        let words =
            [("files", ExposedContent::Files), ("reads", reads), ("plain", ExposedContent::Plain)];
        let of_reads = table.get("shards").or_else(|| table.get("lite"));
        match (table.get("shows").map(|entry| entry.as_one_of(&words)).transpose()?, of_reads) {
            (None | Some(ExposedContent::Files | ExposedContent::Plain), Some(key)) => {
                Err(key.key_error("shards and lite are of reads: shows = \"reads\""))
            }
            (shows, _) => Ok(shows.unwrap_or_default()),
        }
    }

    /// The lines of an entry that say so.
    pub(super) fn push_entry_lines(self, text: &mut String) {
        match self {
            ExposedContent::Files => {}
            ExposedContent::Plain => text.push_str("shows = \"plain\"\n"),
            ExposedContent::Reads(ExposedReads { shards, lite }) => {
                text.push_str("shows = \"reads\"\n");
                let _ = shards.map(|shards| writeln!(text, "shards = {shards}"));
                text.push_str(if lite { "lite = true\n" } else { "" });
            }
        }
    }
}
