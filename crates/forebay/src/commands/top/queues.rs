//! What is on its way: to a bucket, to readers, home.

use super::cells::format_bytes;
use super::view::DaemonView;
use crate::console::group_thousands;
use crate::name_escaping::escape_name;

/// A bucket's queue, copies, what came home; the first says most.
pub(super) fn queue_lines(view: &DaemonView) -> Vec<String> {
    let (live, mut lines) = (&view.now, Vec::new());
    if let Some(bucket) = &live.bucket {
        let health = match (&bucket.lost, &bucket.trouble) {
            (Some(_), _) => "LOST",
            (None, Some(_)) => "out of reach",
            (None, None) => "well",
        };
        lines.push(format!("bucket {}: {health}", escape_name(bucket.url.as_bytes())));
        lines.push(format!(
            "  {} changed, {} files queued ({}), {} objects written ({})",
            group_thousands(bucket.changed),
            group_thousands(bucket.queued.0),
            format_bytes(bucket.queued.1),
            group_thousands(bucket.shipped.0),
            format_bytes(bucket.shipped.1)
        ));
    }
    if let Some(shared) = &live.shared {
        lines.push(format!(
            "shared: holds {} folders ({} names), {} changes for the book",
            group_thousands(shared.folders),
            group_thousands(shared.names),
            group_thousands(shared.unpublished)
        ));
        lines.push(format!(
            "  {} long files here alone ({}), {} brought to the bucket ({})",
            group_thousands(shared.owed.0),
            format_bytes(shared.owed.1),
            group_thousands(shared.brought.0),
            format_bytes(shared.brought.1)
        ));
    }
    if let Some(peers) = &live.peers {
        lines.push(format!(
            "{} peers: {} from them, {} from buckets, {} to them; {} kept",
            group_thousands(peers.peers),
            format_bytes(peers.from_peers),
            format_bytes(peers.from_bucket),
            format_bytes(peers.to_peers),
            format_bytes(peers.kept)
        ));
    }
    if let Some(cache) = &live.cache {
        let (files, copied) = cache.copied;
        lines.push(format!(
            "copies: {} opens read one, {} did not; {} files copied ({})",
            group_thousands(cache.hits),
            group_thousands(cache.misses),
            group_thousands(files),
            format_bytes(copied)
        ));
    }
    if let (files @ 1.., size) = live.drained {
        lines.push(format!(
            "written back so far: {} files ({})",
            group_thousands(files),
            format_bytes(size)
        ));
    }
    lines
}
