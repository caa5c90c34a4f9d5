//! What is on its way: to a bucket, to readers, home.

use super::cells::bytes;
use super::view::View;
use crate::named::named;
use crate::say::grouped;

/// A bucket's queue, copies, what came home; the first says most.
pub(super) fn lines(view: &View) -> Vec<String> {
    let (live, mut lines) = (&view.now, Vec::new());
    if let Some(bucket) = &live.bucket {
        let health = match (&bucket.lost, &bucket.trouble) {
            (Some(_), _) => "LOST",
            (None, Some(_)) => "out of reach",
            (None, None) => "well",
        };
        lines.push(format!("bucket {}: {health}", named(bucket.url.as_bytes())));
        lines.push(format!(
            "  {} changed, {} files queued ({}), {} objects written ({})",
            grouped(bucket.changed),
            grouped(bucket.queued.0),
            bytes(bucket.queued.1),
            grouped(bucket.shipped.0),
            bytes(bucket.shipped.1)
        ));
    }
    if let Some(cache) = &live.cache {
        let (files, copied) = cache.copied;
        lines.push(format!(
            "copies: {} opens read one, {} did not; {} files copied ({})",
            grouped(cache.hits),
            grouped(cache.misses),
            grouped(files),
            bytes(copied)
        ));
    }
    if let (files @ 1.., size) = live.drained {
        lines.push(format!("written back so far: {} files ({})", grouped(files), bytes(size)));
    }
    lines
}
