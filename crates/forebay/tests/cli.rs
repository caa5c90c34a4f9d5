//! The real binary, from outside. If these fail, a pipeline that works without Forebay fails,
//! hangs or lies under it: a wrong exit status, a byte lost on the way, a mount or process left
//! behind, a secret written down.
//!
//! Each test has a directory of its own, ends by itself within seconds, and asks at its end
//! whether anything was left. Nearly all need FUSE; where that is closed they say so on the
//! terminal, and fail where CI=true.

#[path = "../examples/report_runs/made.rs"]
mod made;
#[path = "../../objstore/tests/common/others.rs"]
mod others;
#[path = "common/place.rs"]
mod place;
#[path = "common/processes.rs"]
mod processes;
#[path = "../../objstore/tests/common/s3.rs"]
mod s3;
#[path = "common/turn.rs"]
mod turn;

#[path = "cli/attach_plain.rs"]
mod attach_plain;
#[path = "cli/attach_reads.rs"]
mod attach_reads;
#[path = "cli/attach_s3.rs"]
mod attach_s3;
#[path = "cli/azure.rs"]
mod azure;
#[path = "cli/bench.rs"]
mod bench;
#[path = "cli/bench_bad_input.rs"]
mod bench_bad_input;
#[path = "cli/bench_scale.rs"]
mod bench_scale;
#[path = "cli/bench_told.rs"]
mod bench_told;
#[path = "cli/bench_vary.rs"]
mod bench_vary;
#[path = "cli/book.rs"]
mod book;
#[path = "cli/bucket.rs"]
mod bucket;
#[path = "cli/bucket_away.rs"]
mod bucket_away;
#[path = "cli/bucket_check.rs"]
mod bucket_check;
#[path = "cli/bucket_follow.rs"]
mod bucket_follow;
#[path = "cli/bucket_full.rs"]
mod bucket_full;
#[path = "cli/bucket_kills.rs"]
mod bucket_kills;
#[path = "cli/bucket_power.rs"]
mod bucket_power;
#[path = "cli/bucket_refused.rs"]
mod bucket_refused;
#[path = "cli/bucket_rules.rs"]
mod bucket_rules;
#[path = "cli/bucket_unread.rs"]
mod bucket_unread;
#[path = "cli/by_task.rs"]
mod by_task;
#[path = "cli/cache.rs"]
mod cache;
#[path = "cli/crowds.rs"]
mod crowds;
#[path = "cli/daemon_log.rs"]
mod daemon_log;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/early.rs"]
mod early;
#[path = "cli/elsewhere.rs"]
mod elsewhere;
#[path = "cli/emulated.rs"]
mod emulated;
#[path = "cli/exits.rs"]
mod exits;
#[path = "cli/export.rs"]
mod export;
#[path = "cli/faults.rs"]
mod faults;
#[path = "cli/front_door.rs"]
mod front_door;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/import.rs"]
mod import;
#[path = "cli/jobs.rs"]
mod jobs;
#[path = "cli/join.rs"]
mod join;
#[path = "cli/metrics.rs"]
mod metrics;
#[path = "cli/notifications.rs"]
mod notifications;
#[path = "cli/older.rs"]
mod older;
#[path = "cli/out_of_sight.rs"]
mod out_of_sight;
#[path = "cli/output.rs"]
mod output;
#[path = "cli/outside.rs"]
mod outside;
#[path = "cli/packed.rs"]
mod packed;
#[path = "cli/peers.rs"]
mod peers;
#[path = "cli/plan.rs"]
mod plan;
#[path = "cli/plan_samples.rs"]
mod plan_samples;
#[path = "cli/privacy.rs"]
mod privacy;
#[path = "cli/probe.rs"]
mod probe;
#[path = "cli/probe_s3.rs"]
mod probe_s3;
#[path = "cli/publish.rs"]
mod publish;
#[path = "cli/publish_s3.rs"]
mod publish_s3;
#[path = "cli/reads.rs"]
mod reads;
#[path = "cli/reads_doors.rs"]
mod reads_doors;
#[path = "cli/reads_formats.rs"]
mod reads_formats;
#[path = "cli/reads_s3.rs"]
mod reads_s3;
#[path = "cli/reads_samples.rs"]
mod reads_samples;
#[path = "cli/record.rs"]
mod record;
#[path = "cli/recorders.rs"]
mod recorders;
#[path = "cli/replay.rs"]
mod replay;
#[path = "cli/report.rs"]
mod report;
#[path = "cli/report_bad_input.rs"]
mod report_bad_input;
#[path = "cli/rescue.rs"]
mod rescue;
#[path = "cli/sample.rs"]
mod sample;
#[path = "cli/shared.rs"]
mod shared;
#[path = "cli/shared_failures.rs"]
mod shared_failures;
#[path = "cli/shared_histories.rs"]
mod shared_histories;
#[path = "cli/shared_locks.rs"]
mod shared_locks;
#[path = "cli/simulate.rs"]
mod simulate;
#[path = "cli/slurm.rs"]
mod slurm;
#[path = "cli/status.rs"]
mod status;
#[path = "cli/streams.rs"]
mod streams;
#[path = "cli/suspended.rs"]
mod suspended;
#[path = "cli/tiers.rs"]
mod tiers;
#[path = "cli/top.rs"]
mod top;
#[path = "cli/transport.rs"]
mod transport;
#[path = "cli/trees.rs"]
mod trees;
#[path = "cli/trust.rs"]
mod trust;
#[path = "cli/underway.rs"]
mod underway;
#[path = "cli/unmount_copies.rs"]
mod unmount_copies;
#[path = "cli/unseen.rs"]
mod unseen;
#[path = "cli/views.rs"]
mod views;
#[path = "cli/whole_folders.rs"]
mod whole_folders;
