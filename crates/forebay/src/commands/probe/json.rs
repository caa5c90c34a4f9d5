//! All that a probe measured, as data.

use forebay_model::Reach;
use forebay_plan::calibrate::{Batch, Calibration, LimitKind, ProfileParameter};
use forebay_plan::compare::UncertaintyInterval;
use serde_json::{Value, json};

use super::probe_report::{self, ProbeReport};

/// The version of this form.
const SCHEMA: u32 = 1;

pub(super) fn probe_json(probe: &ProbeReport, batches: &[Batch], fitted: &Calibration) -> Value {
    let figures: Vec<Value> = batches
        .iter()
        .zip(&fitted.simulated)
        .map(|(batch, simulated)| {
            let middle = batch.median_with_interval();
            let simulated = simulated.map(|seconds| seconds.get());
            let pair = middle.map(|middle| middle.median).zip(simulated);
            json!({
                "name": batch.name,
                "threads": batch.threads,
                "operations": operations_json(batch),
                "read_bytes": batch.read,
                "written_bytes": batch.written,
                "rounds": batch.seconds.len(),
                "seconds": batch.seconds,
                "median_seconds": middle.map(|middle| middle.median),
                "interval": middle.map(|middle| span_json(middle.span)),
                "simulated_seconds": simulated,
                "simulated_off": pair.map(|(measured, simulated)| simulated / measured - 1.0),
            })
        })
        .collect();
    let numbers = fitted.spans.iter();
    let numbers: Vec<Value> =
        numbers.map(|(number, span)| number_json(fitted, *number, *span)).collect();
    json!({
        "schema": SCHEMA,
        "directory": probe.dir.to_string_lossy(),
        "file_system": probe.fs_type,
        "reach": match probe.reach {
            Reach::Node => "node",
            Reach::Shared => "shared",
            Reach::World => "world",
        },
        "date": probe.date,
        "kernel": probe.kernel,
        "operations": probe.used.0,
        "bytes": probe.used.1,
        "seconds": probe.took.as_secs_f64(),
        "rounds": probe.found.rounds,
        "unsynced_bytes_per_second": probe.unsynced_rate(),
        "asks_again_for_names": probe.found.sizes.asks_again,
        "at_once": fitted.at_once,
        "profile": numbers,
        "figures": figures,
        "notes": probe_report::list_missing_numbers(probe, fitted),
        "largest_difference": fitted.worst_batch_error(batches).map(|(_, off)| off.abs()),
    })
}

fn operations_json(batch: &Batch) -> Vec<Value> {
    let each = batch.ops.iter().map(|(key, count)| {
        let pattern = key.pattern().map(|pattern| pattern.name());
        json!({ "kind": key.op().name(), "pattern": pattern, "count": count })
    });
    each.collect()
}

fn span_json(span: UncertaintyInterval) -> Value {
    json!({ "low": span.low, "high": span.high, "range": span.range })
}

/// A number of the profile by its key, in seconds or for each second.
fn number_json(
    fitted: &Calibration,
    number: ProfileParameter,
    within: UncertaintyInterval,
) -> Value {
    let profile = &fitted.profile;
    let rate = |rate: Option<forebay_model::Rate>| rate.map(|rate| rate.get());
    let lane = |lane: forebay_model::profile::BandwidthLimits| rate(lane.node.or(lane.total));
    let (key, value) = match number {
        ProfileParameter::Stream(forebay_model::Op::Read) => {
            ("read.stream".into(), rate(profile.read.stream))
        }
        ProfileParameter::Stream(_) => ("write.stream".into(), rate(profile.write.stream)),
        ProfileParameter::Limit(LimitKind::Read) => ("read.all".into(), lane(profile.read)),
        ProfileParameter::Limit(LimitKind::Write) => ("write.all".into(), lane(profile.write)),
        ProfileParameter::Limit(LimitKind::Names) => {
            ("names_per_second".into(), profile.names_per_second)
        }
        ProfileParameter::Limit(LimitKind::Data) => {
            ("data_per_second".into(), profile.data_per_second)
        }
        ProfileParameter::Price(op, pattern) => {
            let random =
                if pattern == forebay_model::AccessPattern::Random { "_random" } else { "" };
            let price = profile.operation_latency(forebay_model::OpKey::with_bytes(op, 0, pattern));
            (format!("latency.{}{random}", op.name()), Some(price.get()))
        }
    };
    json!({ "key": key, "value": value, "interval": span_json(within) })
}
