//! What a machine did, from its samples: a row for each.

use crate::{ByteCount, DeviceSample, MachineSample, MachineTimeline, Micros, NetworkSample};
use serde::Serialize;
use std::collections::BTreeMap;

/// A machine of the run, or one beside it that was sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MachineSummary {
    /// Its name; empty if not known.
    pub name: String,
    /// Its cores, if known.
    pub cpus: Option<u32>,
    /// How many samples there are of the time of the run.
    pub samples: u64,
    /// Share of CPU time that was used, 0 to 1; `None` without samples.
    pub cpu_share: Option<f64>,
    /// Share of CPU time that was idle while a request to storage was under way, 0 to 1.
    pub iowait_share: Option<f64>,
    /// Its memory, if known.
    pub memory: Option<ByteCount>,
    /// The most that programs held of it at a time.
    pub memory_used_most: Option<ByteCount>,
    /// The busiest of its disks; `None`: none did anything.
    pub disk: Option<DiskSummary>,
    /// The network interface that moved most; `None`: none did anything.
    pub network: Option<NetworkSummary>,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DiskSummary {
    /// Kernel name.
    pub name: String,
    /// Share of the time with a request under way, 0 to 1.
    pub busy_share: f64,
    /// Bytes read.
    pub read: ByteCount,
    /// Bytes written.
    pub written: ByteCount,
}

/// A network interface. What goes past the kernel (RDMA) is not in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkSummary {
    /// Kernel name.
    pub name: String,
    /// Bytes that came.
    pub received: ByteCount,
    /// Bytes that went.
    pub sent: ByteCount,
}

impl MachineSummary {
    /// Adds the samples of a machine up.
    pub fn from_machine(machine: &MachineTimeline) -> Self {
        let samples = &machine.samples;
        let sum = |of: fn(&MachineSample) -> Micros| -> Micros { samples.iter().map(of).sum() };
        let used = sum(|s| s.cpu.user + s.cpu.system);
        let waited = sum(|s| s.cpu.iowait);
        let all = used + waited + sum(|s| s.cpu.idle + s.cpu.steal);
        let share = |part: Micros| (all.0 > 0).then(|| part.0 as f64 / all.0 as f64);
        Self {
            name: machine.name.clone(),
            cpus: machine.cpus,
            samples: samples.len() as u64,
            cpu_share: share(used),
            iowait_share: share(waited),
            memory: machine.memory,
            memory_used_most: samples.iter().map(|s| s.memory.total - s.memory.available).max(),
            disk: busiest_disk(samples),
            network: busiest_network(samples),
        }
    }
}

/// The time that samples stand for: up to the last, and as long before the first as between two.
fn sampled_span(samples: &[MachineSample]) -> Option<Micros> {
    let (first, last) = (samples.first()?.at, samples.last()?.at);
    let between = last.since(first).0.checked_div(samples.len() as u64 - 1).unwrap_or(first.0);
    Some(last.since(first) + Micros(between.min(first.0.max(1))))
}

fn busiest_disk(samples: &[MachineSample]) -> Option<DiskSummary> {
    let span = sampled_span(samples)?;
    let mut disks: BTreeMap<&str, DeviceSample> = BTreeMap::new();
    for device in samples.iter().flat_map(|sample| &sample.devices) {
        let sum = disks.entry(&device.name).or_default();
        sum.busy += device.busy;
        sum.read += device.read;
        sum.written += device.written;
    }
    let (name, sum) =
        disks.into_iter().max_by_key(|(_, sum)| (sum.busy, sum.read + sum.written))?;
    Some(DiskSummary {
        name: name.to_owned(),
        busy_share: (sum.busy.0 as f64 / span.0.max(1) as f64).min(1.0),
        read: sum.read,
        written: sum.written,
    })
}

fn busiest_network(samples: &[MachineSample]) -> Option<NetworkSummary> {
    let mut networks: BTreeMap<&str, NetworkSample> = BTreeMap::new();
    for network in samples.iter().flat_map(|sample| &sample.networks) {
        let sum = networks.entry(&network.name).or_default();
        sum.received += network.received;
        sum.sent += network.sent;
    }
    let (name, sum) = networks.into_iter().max_by_key(|(_, sum)| sum.received + sum.sent)?;
    Some(NetworkSummary { name: name.to_owned(), received: sum.received, sent: sum.sent })
}
