//! Machines by their samples: processors, memory, block devices.

use std::collections::BTreeMap;

use forebay_model::{
    CpuSample, DeviceSample, MachineSample, MachineTimeline, Micros, PressureSample,
};
use serde_json::{Value, json};

use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::{column, rounded_number};
use crate::commands::report::page_text::escape_name;

/// A chart has no more moments: neighbours are put together.
const MOST: usize = 1_200;

/// Samples that are shown as one, with the time that they stand for.
fn group_samples(
    machine: &MachineTimeline,
) -> impl Iterator<Item = (Micros, Micros, &[MachineSample])> {
    let samples = &machine.samples;
    let each = samples.len().div_ceil(MOST).max(1);
    // Before the first, as long as between the first two: it may have been looked at late.
    let mut before = match &samples[..] {
        [first, second, ..] => first.at - second.at.since(first.at),
        _ => Micros::ZERO,
    };
    let moments = samples.chunks(each).map(move |some| {
        let at = some.last().map(|sample| sample.at).unwrap_or_default();
        let lasted = at.since(before);
        before = at;
        (at, lasted, some)
    });
    moments.filter(|(_, lasted, _)| *lasted > Micros::ZERO)
}

fn rate_per_second(amount: u64, lasted: Micros) -> Value {
    rounded_number(amount as f64 / lasted.as_secs())
}

fn capped_share(part: Micros, whole: Micros) -> Value {
    rounded_number((part.0 as f64 / whole.0 as f64).min(1.0))
}

/// Those that were sampled.
pub(super) fn sampled_nodes(run: &IndexedRun) -> Value {
    run.machines.iter().map(node_data).collect()
}

fn node_data(machine: &MachineTimeline) -> Value {
    let name = if machine.name.is_empty() { "this machine" } else { &machine.name };
    let memory_bytes = machine.samples.first().map(|first| first.memory.total);
    let cpu = |of: fn(&CpuSample) -> Micros| {
        column(group_samples(machine).map(|(_, _, some)| {
            let sum =
                |of: fn(&CpuSample) -> Micros| some.iter().map(|s| of(&s.cpu)).sum::<Micros>();
            let all: [fn(&CpuSample) -> Micros; 5] =
                [|c| c.user, |c| c.system, |c| c.iowait, |c| c.idle, |c| c.steal];
            capped_share(sum(of), all.into_iter().map(sum).sum())
        }))
    };
    let memory = |of: fn(&MachineSample) -> u64| {
        column(group_samples(machine).map(|(_, _, some)| some.last().map(of)))
    };
    let pressure = |of: fn(&PressureSample) -> Micros| {
        let known = machine.samples.iter().any(|sample| sample.pressure.is_some());
        known.then(|| {
            column(group_samples(machine).map(|(_, lasted, some)| {
                let sum = some.iter().map(|s| s.pressure.as_ref().map(of)).sum::<Option<Micros>>();
                sum.map_or(Value::Null, |sum| capped_share(sum, lasted))
            }))
        })
    };
    json!({
        "name": escape_name(name.as_bytes()),
        "at_us": column(group_samples(machine).map(|(at, _, _)| at)),
        "for_us": column(group_samples(machine).map(|(_, lasted, _)| lasted)),
        "user_share": cpu(|cpu| cpu.user),
        "system_share": cpu(|cpu| cpu.system),
        "iowait_share": cpu(|cpu| cpu.iowait),
        "idle_share": cpu(|cpu| cpu.idle),
        "steal_share": cpu(|cpu| cpu.steal),
        "memory_bytes": memory_bytes,
        "used_bytes": memory(|s| (s.memory.total - s.memory.available).get()),
        "cached_bytes": memory(|s| s.memory.cached.get()),
        "dirty_bytes": memory(|s| s.memory.dirty.get()),
        "writeback_bytes": memory(|s| s.memory.writeback.get()),
        "pressure_some_share": pressure(|pressure| pressure.some),
        "pressure_full_share": pressure(|pressure| pressure.full),
    })
}

/// Their block devices that did anything.
pub(super) fn busy_devices(run: &IndexedRun) -> Value {
    let mut all = Vec::new();
    for (at, machine) in run.machines.iter().enumerate() {
        let mut busy: BTreeMap<&str, bool> = BTreeMap::new();
        for device in machine.samples.iter().flat_map(|sample| &sample.devices) {
            *busy.entry(&device.name).or_default() |= device.reads + device.writes > 0;
        }
        let names = busy.into_iter().filter(|(_, busy)| *busy).map(|(name, _)| name);
        all.extend(names.map(|name| device_data(machine, at, name)));
    }
    all.into()
}

fn device_data(machine: &MachineTimeline, at: usize, name: &str) -> Value {
    let sum = |some: &[MachineSample], of: fn(&DeviceSample) -> u64| -> u64 {
        let devices = some.iter().flat_map(|sample| &sample.devices);
        devices.filter(|device| device.name == name).map(of).sum()
    };
    let rate = |of: fn(&DeviceSample) -> u64| {
        column(
            group_samples(machine).map(|(_, lasted, some)| rate_per_second(sum(some, of), lasted)),
        )
    };
    json!({
        "name": escape_name(name.as_bytes()),
        "node": at,
        "at_us": column(group_samples(machine).map(|(at, _, _)| at)),
        "for_us": column(group_samples(machine).map(|(_, lasted, _)| lasted)),
        "read_bytes_per_s": rate(|device| device.read.get()),
        "written_bytes_per_s": rate(|device| device.written.get()),
        "reads_per_s": rate(|device| device.reads),
        "writes_per_s": rate(|device| device.writes),
        "busy_share": column(group_samples(machine).map(|(_, lasted, some)| {
            capped_share(Micros(sum(some, |device| device.busy.0)), lasted)
        })),
    })
}
