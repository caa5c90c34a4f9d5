//! Where the bytes of a file are that a rule sent to a tier. That may change while nobody has the
//! file open (`native::migration`), so whoever asks gets what is so now, and keeps it.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::tiers::TieredFile;

/// The body of a file, if it has one on a tier.
#[derive(Debug, Default)]
pub(crate) struct TieredFileSlot(RwLock<Option<Arc<TieredFile>>>);

impl TieredFileSlot {
    pub(crate) fn get(&self) -> Option<Arc<TieredFile>> {
        self.0.read().clone()
    }

    pub(crate) fn is_some(&self) -> bool {
        self.0.read().is_some()
    }

    /// The body, which is this one if none was known.
    pub(super) fn get_or_init(&self, placed: &Arc<TieredFile>) -> Arc<TieredFile> {
        Arc::clone(self.0.write().get_or_insert_with(|| Arc::clone(placed)))
    }

    pub(super) fn set(&self, placed: Option<Arc<TieredFile>>) {
        *self.0.write() = placed;
    }
}
