//! How much there is, and how much of it has come.

use std::collections::BTreeSet;

use super::Work;

impl Work<'_> {
    /// Packed files, and their bytes.
    pub(super) fn packed_amount(&self) -> (u64, u64) {
        let Some(pack) = self.tiers.pack() else { return (0, 0) };
        let (mut seen, mut bytes) = (BTreeSet::new(), 0);
        for dir in pack.dirs() {
            for found in dir.names.iter().filter_map(|name| pack.find(dir.key, name)) {
                if seen.insert(found.ino) {
                    bytes += found.attr.size;
                }
            }
        }
        (seen.len() as u64, bytes)
    }

    /// Tells whoever looks on how far it is.
    pub(super) fn tell(&self) {
        let done = &self.done;
        // Those that had come before are not among those that were to come.
        let before = self.tiers.moved();
        let files = done.brought.0 - before.0 + done.discarded.0 + done.kept.0;
        let bytes = done.brought.1 - before.1 + done.discarded.1 + done.kept.1;
        self.progress.at(files + done.left.len() as u64, bytes);
    }
}
