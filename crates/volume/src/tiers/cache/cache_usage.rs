//! What the cache did, in numbers.

use std::sync::atomic::Ordering::Relaxed;

use super::Tiers;
use crate::ipc::CacheReport;

impl Tiers {
    /// How often copies were read; `None` when no rule has a cache.
    pub(crate) fn cache_report(&self) -> Option<CacheReport> {
        let cache = &self.cache;
        cache.used.then(|| CacheReport {
            hits: cache.hits.load(Relaxed),
            misses: cache.misses.load(Relaxed),
            copied: (cache.files.load(Relaxed), cache.bytes.load(Relaxed)),
            why_not: cache.why_not.get().cloned(),
        })
    }
}
