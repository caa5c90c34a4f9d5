//! The figures, one entry each: name, what it means, and its values. Names end in their unit, and those
//! that only grow in `_total`, as Prometheus has it.

use forebay_volume::ipc::{BucketStatus, PeerStatus, SharedStatus};
use forebay_volume::live::{DaemonKind, LiveStatus};

use crate::commands::status::daemon_health::{DaemonStatus, Health, StatusReport};

/// How values of a figure follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FamilyKind {
    /// Up and down.
    Gauge,
    /// Only up, from 0 when the daemon begins.
    Counter,
}

impl FamilyKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            FamilyKind::Gauge => "gauge",
            FamilyKind::Counter => "counter",
        }
    }
}

/// A figure.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) kind: FamilyKind,
    pub(super) help: &'static str,
    pub(super) samples: fn(&StatusReport) -> Vec<Sample>,
}

/// One of its values.
#[derive(Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: f64,
}

use FamilyKind::{Counter, Gauge};

const fn family(
    name: &'static str,
    kind: FamilyKind,
    help: &'static str,
    samples: fn(&StatusReport) -> Vec<Sample>,
) -> Family {
    Family { name, kind, help, samples }
}

/// All figures. The first is there always.
pub(super) const FAMILIES: &[Family] = &[
    family("forebay_mounts", Gauge, "Runs and mounts that were found.", |found| {
        vec![Sample { labels: Vec::new(), value: found.rows.len() as f64 }]
    }),
    family("forebay_up", Gauge, "1: its daemon answers.", |found| {
        rows(found, |row| f64::from(u8::from(row.live.is_some())))
    }),
    family("forebay_well", Gauge, "1: it is well, as `forebay status` has it.", |found| {
        rows(found, |row| f64::from(u8::from(row.health == Health::Well)))
    }),
    family("forebay_info", Gauge, "What it shows, and what kind it is: always 1.", |found| {
        each(found, |live, labels| {
            let kind = match live.kind {
                DaemonKind::Run => "run",
                DaemonKind::Mount if live.shared.is_some() => "shared",
                DaemonKind::Mount => "mount",
                DaemonKind::Bucket => "bucket",
                DaemonKind::BucketReader => "bucket-reader",
            };
            let more = [("volume", live.volume.clone()), ("kind", kind.to_owned())];
            vec![Sample { labels: with(labels, more), value: 1.0 }]
        })
    }),
    family("forebay_uptime_seconds", Gauge, "Since its daemon began.", |found| {
        one(found, |live| Some(seconds(live.at_us)))
    }),
    family("forebay_operations_total", Counter, "Operations, by group.", |found| {
        groups(found, |totals| totals.count as f64)
    }),
    family("forebay_operation_seconds_total", Counter, "What they took, summed.", |found| {
        groups(found, |totals| seconds(totals.time_us))
    }),
    family("forebay_read_bytes_total", Counter, "Bytes that passed Forebay.", |found| {
        one(found, |live| Some(live.read as f64))
    }),
    family("forebay_written_bytes_total", Counter, "The same, written.", |found| {
        one(found, |live| Some(live.written as f64))
    }),
    family("forebay_errors_total", Counter, "Failed requests, by error.", |found| {
        each(found, |live, labels| {
            let errors = live.errors.iter();
            errors
                .map(|(error, count)| Sample {
                    labels: with(labels, [("error", error.clone())]),
                    value: *count as f64,
                })
                .collect()
        })
    }),
    family("forebay_warnings", Gauge, "Things that a person should know now.", |found| {
        one(found, |live| Some(live.warnings.len() as f64))
    }),
    family("forebay_tier_used_bytes", Gauge, "What it holds on a tier.", |found| {
        tiers(found, |tier| tier.used)
    }),
    family("forebay_tier_limit_bytes", Gauge, "What it may hold there.", |found| {
        tiers(found, |tier| tier.limit)
    }),
    family("forebay_filesystem_size_bytes", Gauge, "Room of the file system.", |found| {
        tiers(found, |tier| tier.room)
    }),
    family("forebay_filesystem_free_bytes", Gauge, "Of that, what is free.", |found| {
        tiers(found, |tier| tier.free)
    }),
    family("forebay_cache_hits_total", Counter, "Opens that read a copy.", |found| {
        one(found, |live| Some(live.cache.as_ref()?.hits as f64))
    }),
    family("forebay_cache_misses_total", Counter, "Opens that read the file at home.", |found| {
        one(found, |live| Some(live.cache.as_ref()?.misses as f64))
    }),
    family("forebay_bucket_reachable", Gauge, "1: the bucket answered last.", |found| {
        bucket(found, |bucket| {
            Some(f64::from(u8::from(bucket.trouble.is_none() && bucket.lost.is_none())))
        })
    }),
    family("forebay_bucket_changed_names", Gauge, "Changed names that wait.", |found| {
        bucket(found, |bucket| Some(bucket.changed as f64))
    }),
    family("forebay_bucket_queued_files", Gauge, "Files on their way to it.", |found| {
        bucket(found, |bucket| Some(bucket.queued.0 as f64))
    }),
    family("forebay_bucket_queued_bytes", Gauge, "Their bytes.", |found| {
        bucket(found, |bucket| Some(bucket.queued.1 as f64))
    }),
    family("forebay_bucket_lag_seconds", Gauge, "Age of the oldest change.", |found| {
        bucket(found, |bucket| Some(bucket.lag_us.map_or(0.0, seconds)))
    }),
    family("forebay_bucket_objects_total", Counter, "Objects that were written.", |found| {
        bucket(found, |bucket| Some(bucket.shipped.0 as f64))
    }),
    family("forebay_bucket_written_bytes_total", Counter, "Their bytes.", |found| {
        bucket(found, |bucket| Some(bucket.shipped.1 as f64))
    }),
    family("forebay_peers", Gauge, "Nodes that share what they read.", |found| {
        peers(found, |peers| peers.peers as f64)
    }),
    family("forebay_peers_away", Gauge, "Of these, how many are away.", |found| {
        peers(found, |peers| peers.away.len() as f64)
    }),
    family("forebay_peers_received_bytes_total", Counter, "Bytes from peers.", |found| {
        peers(found, |peers| peers.from_peers as f64)
    }),
    family("forebay_peers_fetched_bytes_total", Counter, "Bytes from buckets.", |found| {
        peers(found, |peers| peers.from_bucket as f64)
    }),
    family("forebay_peers_sent_bytes_total", Counter, "Bytes to peers.", |found| {
        peers(found, |peers| peers.to_peers as f64)
    }),
    family("forebay_shared_folders", Gauge, "Folders that this node holds.", |found| {
        shared(found, |shared| shared.folders as f64)
    }),
    family("forebay_shared_names", Gauge, "Names in them, in memory.", |found| {
        shared(found, |shared| shared.names as f64)
    }),
    family("forebay_shared_lease_seconds", Gauge, "What is left of its lease.", |found| {
        shared(found, |shared| seconds(shared.lease_us))
    }),
    family("forebay_shared_unpublished_changes", Gauge, "Not in the book yet.", |found| {
        shared(found, |shared| shared.unpublished as f64)
    }),
    family("forebay_shared_publications_total", Counter, "Transactions of the book.", |found| {
        shared(found, |shared| shared.publications as f64)
    }),
    family("forebay_shared_lost_changes_total", Counter, "Lost while it was away.", |found| {
        shared(found, |shared| shared.lost as f64)
    }),
    family("forebay_shared_owed_files", Gauge, "Long files on this node alone.", |found| {
        shared(found, |shared| shared.owed.0 as f64)
    }),
    family("forebay_shared_owed_bytes", Gauge, "Their bytes.", |found| {
        shared(found, |shared| shared.owed.1 as f64)
    }),
];

type Labels = Vec<(&'static str, String)>;

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

/// What tells one from others: where it is seen.
fn labels_of(row: &DaemonStatus) -> Labels {
    let mount = row.points.first().map(|point| point.to_string_lossy().into_owned());
    vec![
        ("mount", mount.unwrap_or_default()),
        ("pid", row.pid.map_or_else(String::new, |pid| pid.to_string())),
    ]
}

fn with<const N: usize>(labels: &Labels, more: [(&'static str, String); N]) -> Labels {
    labels.iter().cloned().chain(more).collect()
}

/// A value of each, also of one that does not answer.
fn rows(found: &StatusReport, value: impl Fn(&DaemonStatus) -> f64) -> Vec<Sample> {
    let all = found.rows.iter();
    all.map(|row| Sample { labels: labels_of(row), value: value(row) }).collect()
}

/// Values of those that answer.
fn each(
    found: &StatusReport,
    samples: impl Fn(&LiveStatus, &Labels) -> Vec<Sample>,
) -> Vec<Sample> {
    let answering = found.rows.iter().filter_map(|row| Some((row, row.live.as_deref()?)));
    answering.flat_map(|(row, live)| samples(live, &labels_of(row))).collect()
}

fn one(found: &StatusReport, value: impl Fn(&LiveStatus) -> Option<f64>) -> Vec<Sample> {
    each(found, |live, labels| {
        let value = value(live);
        value.map(|value| Sample { labels: labels.clone(), value }).into_iter().collect()
    })
}

fn groups(
    found: &StatusReport,
    value: impl Fn(&forebay_volume::live::OperationTotals) -> f64,
) -> Vec<Sample> {
    each(found, |live, labels| {
        [("names", &live.names), ("data", &live.data), ("syncs", &live.syncs)]
            .into_iter()
            .map(|(group, totals)| Sample {
                labels: with(labels, [("group", group.to_owned())]),
                value: value(totals),
            })
            .collect()
    })
}

fn tiers(
    found: &StatusReport,
    value: impl Fn(&forebay_volume::live::TierStatus) -> Option<u64>,
) -> Vec<Sample> {
    each(found, |live, labels| {
        let known = live.tiers.iter().filter_map(|tier| Some((tier, value(tier)?)));
        known
            .map(|(tier, bytes)| {
                let name = tier.tier.clone().unwrap_or_else(|| "in-place".to_owned());
                let path = tier.path.to_string_lossy().into_owned();
                let labels = with(labels, [("tier", name), ("path", path)]);
                Sample { labels, value: bytes as f64 }
            })
            .collect()
    })
}

fn bucket(found: &StatusReport, value: impl Fn(&BucketStatus) -> Option<f64>) -> Vec<Sample> {
    one(found, |live| value(live.bucket.as_ref()?))
}

fn peers(found: &StatusReport, value: impl Fn(&PeerStatus) -> f64) -> Vec<Sample> {
    one(found, |live| live.peers.as_ref().map(&value))
}

fn shared(found: &StatusReport, value: impl Fn(&SharedStatus) -> f64) -> Vec<Sample> {
    one(found, |live| live.shared.as_ref().map(&value))
}
