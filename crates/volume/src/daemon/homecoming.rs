//! What the record says of files on tiers: how many came home, and how long that took after the last
//! task. Keys are those of FORMATS.md.

use forebay_model::Micros;

use crate::launch::HomecomingTold;

/// Notes for the header of the run. `drained` are files, and their bytes, that came home while the
/// run went on; they are among those that were brought.
pub(super) fn notes(
    told: &[HomecomingTold],
    drained: (u64, u64),
    took: Micros,
) -> Vec<(String, String)> {
    let sum = |of: fn(&HomecomingTold) -> (u64, u64)| {
        told.iter().map(of).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    };
    if told.is_empty() {
        return Vec::new();
    }
    let mut notes = vec![("homecoming_s".to_owned(), took.as_secs().to_string())];
    let mut note = |what: &str, files: u64, bytes: Option<u64>| {
        notes.push((format!("{what}_files"), files.to_string()));
        notes.extend(bytes.map(|bytes| (format!("{what}_bytes"), bytes.to_string())));
    };
    for (what, (files, bytes)) in [
        ("brought_home", sum(|told| told.brought)),
        ("drained", drained),
        ("discarded", sum(|told| told.discarded)),
        ("kept", sum(|told| told.kept)),
        ("published", sum(|told| told.published)),
    ] {
        note(what, files, Some(bytes));
    }
    note("left", told.iter().map(|told| told.left.0).sum(), None);
    note("spilled", told.iter().map(|told| told.spilled.0).sum(), None);
    notes
}
