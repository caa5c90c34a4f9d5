//! What the record says of files on tiers: how many came home, and how long that took after the last
//! task. Keys are those of docs/formats/run.md.

use forebay_model::name_escaping::escape_name;
use forebay_model::run::note_key;
use forebay_model::{Micros, Seconds};

use crate::ipc::UploadReport;
use crate::ipc::WriteBackReport;

/// Notes for the header of the run. `drained` are files, and their bytes, that came home while the
/// run went on; they are among those that were brought.
pub(super) fn write_back_notes(
    told: &[WriteBackReport],
    drained: (u64, u64),
    took: Micros,
) -> Vec<(String, String)> {
    let sum = |of: fn(&WriteBackReport) -> (u64, u64)| {
        told.iter().map(of).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    };
    if told.is_empty() {
        return Vec::new();
    }
    let mut notes = vec![note_key::WRITTEN_BACK_FOR.to_note(&Seconds(took.as_secs()))];
    for (keys, (files, bytes)) in [
        (note_key::WRITTEN_BACK, sum(|told| told.brought)),
        (note_key::DRAINED, drained),
        (note_key::DISCARDED, sum(|told| told.discarded)),
        (note_key::KEPT, sum(|told| told.kept)),
        (note_key::PUBLISHED, sum(|told| told.published)),
    ] {
        notes.extend(keys.to_notes(files, bytes));
    }
    notes.push(note_key::LEFT_FILES.to_note(&told.iter().map(|told| told.left.0).sum()));
    notes.push(note_key::SPILLED_FILES.to_note(&told.iter().map(|told| told.spilled.0).sum()));
    notes
}

/// Says what did not come where it belongs: nobody may be there to be told.
pub(super) fn log_left_files(homecomings: &[WriteBackReport], shipped: Option<&UploadReport>) {
    for told in homecomings {
        let directory = escape_name(told.directory.as_os_str().as_encoded_bytes());
        for (what, (files, why)) in [
            ("are on their tier still", &told.left),
            ("were not published", &told.unpublished),
            ("may not survive a power failure", &told.unsynced),
            ("stayed in place against their rule", &told.spilled),
        ] {
            if *files > 0 {
                tracing::warn!("{files} files of {directory} {what}: {why}");
            }
        }
    }
    if let Some((url, why)) = shipped.and_then(|told| Some((&told.url, told.left.as_ref()?))) {
        tracing::error!("not all of it is in {url}: {why}");
    }
}
