//! How much there is, and how much of it has come.

use std::collections::BTreeSet;

use super::WriteBackJob;

impl WriteBackJob<'_> {
    /// Packed files, and their bytes.
    pub(super) fn packed_totals(&self) -> (u64, u64) {
        let Some(pack) = self.tiers.pack() else { return (0, 0) };
        let (mut seen, mut bytes) = (BTreeSet::new(), 0);
        for dir in pack.packed_directories() {
            for found in dir.names.iter().filter_map(|name| pack.lookup_name(dir.key, name)) {
                if seen.insert(found.ino) {
                    bytes += found.attr.size;
                }
            }
        }
        (seen.len() as u64, bytes)
    }

    /// Tells whoever looks on how far it is.
    pub(super) fn report_progress(&self) {
        let done = &self.done;
        // Those that had come before are not among those that were to come.
        let before = self.tiers.written_back_counts();
        let files = done.brought.0 - before.0 + done.discarded.0 + done.kept.0;
        let bytes = done.brought.1 - before.1 + done.discarded.1 + done.kept.1;
        self.progress.set_done(files + done.left.len() as u64, bytes);
    }
}
