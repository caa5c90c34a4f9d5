//! Files of reads that are attached as plain FASTQ: read once, and told.

use std::path::Path;

use forebay_model::AttachmentSet;
use forebay_model::attached::{ExposedContent, ExposedReads};

use super::super::reads::{progress_reporter, thread_count};
use crate::console;
use crate::exit::CommandError;
use crate::next_steps::reads_next_step;

/// Only archives have shards, and objects that can be done without.
pub(super) fn plain_view(
    source: &Path,
    shown: ExposedReads,
) -> Result<ExposedContent, CommandError> {
    match shown == ExposedReads::default() {
        true => Ok(ExposedContent::Plain),
        false => Err(CommandError::new(
            1,
            format!("{} can't be attached: it is no archive of reads", source.display()),
            "--shards and --lite are of archives, which `forebay reads pack` makes; nothing was \
             attached",
        )),
    }
}

/// Why files in buckets are not shown so.
pub(super) fn explain_plain_in_bucket(url: &str) -> String {
    format!("{url} lies in a bucket, where plain FASTQ is shown of archives alone")
}

/// Reads what is going to be shown at a place, and says what that is.
pub(super) fn learn_plain_reads(
    volume: &Path,
    at: &Path,
    attached: &AttachmentSet,
) -> Result<(), CommandError> {
    let source = attached.iter().find(|one| one.at == at).map(|one| one.source.as_path());
    let source = source.unwrap_or(Path::new(""));
    let progress = progress_reporter("read", "of text");
    let learned = forebay_volume::reads::index_original_files(
        volume,
        at,
        source,
        thread_count(None),
        progress,
    );
    let learned = learned.map_err(|trouble| {
        let (source, why) = (source.display().to_string(), trouble.to_string());
        let why = why.strip_prefix(&format!("{source}: ")).unwrap_or(&why);
        let message = format!("{source} can't be attached: {why}");
        CommandError::new(
            1,
            message,
            format!("{}; nothing was attached", reads_next_step(&trouble)),
        )
    })?;
    for (name, bytes) in learned.iter().flat_map(|one| &one.texts) {
        console::note(&format!(
            "{}: {} bytes",
            at.join(name).display(),
            console::group_thousands(*bytes)
        ));
    }
    Ok(())
}
