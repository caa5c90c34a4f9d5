//! What is told of each: text for people, JSON for scripts.

use forebay_model::{ByteCount, Micros};
use forebay_volume::ipc::{BucketStatus, PeerStatus, SharedStatus};
use forebay_volume::live::{DaemonKind, LiveStatus, TierStatus};
use serde_json::{Value, json};

use super::daemon_health::{DaemonStatus, StatusReport};
use crate::console::group_thousands;
use crate::name_escaping::escape_name;

pub(super) fn as_json(found: &StatusReport) -> String {
    let rows: Vec<Value> = found.rows.iter().map(row_json).collect();
    let health = found.worst_health().word();
    json!({ "schema": 1, "health": health, "mounts": rows, "newer": found.newer }).to_string()
        + "\n"
}

fn row_json(row: &DaemonStatus) -> Value {
    let mut told = json!({
        "points": row.points,
        "pid": row.pid,
        "health": row.health.word(),
        "why": row.why,
        "log": row.log,
    });
    if let Some(live) = &row.live {
        let bucket = live.bucket.as_ref();
        told["kind"] = json!(live.kind);
        told["volume"] = json!(live.volume);
        told["uptime_s"] = json!(to_seconds(live.at_us));
        told["requests"] = json!(request_count(live));
        told["errors"] = json!(live.errors);
        told["waiting"] = json!(bucket.map(|bucket| json!({
            "changed": bucket.changed,
            "files": bucket.queued.0,
            "bytes": bucket.queued.1,
            "lag_s": bucket.lag_us.map(to_seconds),
        })));
        told["peers"] = json!(live.peers);
        told["shared"] = json!(live.shared);
        told["space"] = json!(space_by_tier(live));
        told["warnings"] = json!(live.warnings);
    }
    told
}

fn to_seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn request_count(live: &LiveStatus) -> u64 {
    live.names.count + live.data.count + live.syncs.count
}

/// Tiers and covered directories; of a volume in a bucket, what is here of it.
fn space_by_tier(live: &LiveStatus) -> Vec<TierStatus> {
    let here = live.bucket.as_ref().and_then(|bucket| bucket.here);
    let mut all = live.tiers.clone();
    if let Some(first) = all.first_mut() {
        first.used = first.used.or(here);
    }
    all
}

pub(super) fn as_text(found: &StatusReport) -> String {
    let mut text: String = found.rows.iter().map(row_text).collect();
    for newer in &found.newer {
        text += &format!("{newer}\n");
    }
    if text.is_empty() {
        text = "nothing of yours is mounted, and nothing runs\n".to_owned();
    }
    text
}

fn printable_path(path: &std::path::Path) -> String {
    escape_name(path.as_os_str().as_encoded_bytes())
}

fn row_text(row: &DaemonStatus) -> String {
    let point =
        row.points.first().map_or_else(|| "(unknown)".to_owned(), |point| printable_path(point));
    let mut lines = vec![format!("{point}: {}", row.health.word())];
    lines.extend(row.why.iter().map(|why| format!("  {}", escape_name(why.as_bytes()))));
    if let Some(live) = &row.live {
        lines.push(format!(
            "  {}, pid {}, since {}",
            daemon_in_words(live),
            live.pid,
            Micros(live.at_us)
        ));
        let errors: Vec<String> = live
            .errors
            .iter()
            .map(|(name, count)| format!("{} {name}", group_thousands(*count)))
            .collect();
        let errors = if errors.is_empty() { "none failed".to_owned() } else { errors.join(", ") };
        lines.push(format!("  {} requests, {errors}", group_thousands(request_count(live))));
        lines.extend(live.bucket.as_ref().map(bucket_line));
        lines.extend(live.shared.iter().flat_map(shared_lines));
        lines.extend(live.peers.iter().flat_map(peer_lines));
        lines.extend(space_by_tier(live).iter().map(tier_line));
    }
    lines.extend(row.log.as_ref().map(|log| format!("  log {}", printable_path(log))));
    lines.join("\n") + "\n"
}

fn daemon_in_words(live: &LiveStatus) -> String {
    let volume = escape_name(live.volume.as_bytes());
    match live.kind {
        DaemonKind::Run => {
            let words: Vec<String> =
                live.command.iter().map(|word| escape_name(word.as_bytes())).collect();
            match words.is_empty() {
                true => format!("run in {volume}"),
                false => format!("run of {}", words.join(" ")),
            }
        }
        DaemonKind::Mount if live.shared.is_some() => {
            format!("mount of {volume}, written by several nodes")
        }
        DaemonKind::Mount => format!("mount of {volume}"),
        DaemonKind::Bucket => format!("mount of {volume}, written here"),
        DaemonKind::BucketReader => format!("mount of {volume}, read alone"),
    }
}

fn bucket_line(bucket: &BucketStatus) -> String {
    let lag = match bucket.lag_us {
        None => "nothing waits for the bucket".to_owned(),
        Some(lag) => format!("the oldest change waits for the bucket for {}", Micros(lag)),
    };
    format!(
        "  {} names changed, {} files queued ({}), {lag}",
        group_thousands(bucket.changed),
        group_thousands(bucket.queued.0),
        ByteCount(bucket.queued.1)
    )
}

/// What a node of a shared volume holds, and what is on its way to the book and to the bucket.
fn shared_lines(shared: &SharedStatus) -> Vec<String> {
    let lease = match shared.lease_us {
        0 => "without a lease now".to_owned(),
        left => format!("lease for {}", Micros(left)),
    };
    let mut lines = vec![
        format!(
            "  holds {} folders ({} names), {lease}, {} changes for the book",
            group_thousands(shared.folders),
            group_thousands(shared.names),
            group_thousands(shared.unpublished)
        ),
        format!(
            "  {} long files ({}) are here alone, {} ({}) were brought to the bucket",
            group_thousands(shared.owed.0),
            ByteCount(shared.owed.1),
            group_thousands(shared.brought.0),
            ByteCount(shared.brought.1)
        ),
    ];
    if shared.lost > 0 {
        let lost = group_thousands(shared.lost);
        lines.push(format!("  {lost} changes were lost while it was away; the log names them"));
    }
    lines
}

/// What peers gave each other, and who of them is away.
fn peer_lines(peers: &PeerStatus) -> Vec<String> {
    let bytes = |bytes: u64| ByteCount(bytes).to_string();
    let mut lines = vec![format!(
        "  {} peers: {} came from them, {} from buckets, {} went to them",
        group_thousands(peers.peers),
        bytes(peers.from_peers),
        bytes(peers.from_bucket),
        bytes(peers.to_peers)
    )];
    if let Some(own) = &peers.own {
        lines.push(format!(
            "  this one is {}, and keeps {} of {} for them",
            escape_name(own.as_bytes()),
            bytes(peers.kept),
            bytes(peers.space)
        ));
    }
    lines.extend(peers.away.iter().map(|away| format!("  {}", escape_name(away.as_bytes()))));
    lines
}

fn tier_line(tier: &TierStatus) -> String {
    let bytes = |bytes: Option<u64>| bytes.map_or("?".to_owned(), |b| ByteCount(b).to_string());
    let name = tier.tier.as_ref().map_or("here".to_owned(), |name| format!("tier {name}"));
    let used = tier.used.map(|used| format!(" {} used", ByteCount(used))).unwrap_or_default();
    let limit = tier.limit.map(|limit| format!(" of {}", ByteCount(limit))).unwrap_or_default();
    let (free, room) = (bytes(tier.free), bytes(tier.room));
    format!("  {name} {}:{used}{limit} {free} of {room} free", printable_path(&tier.path))
}
