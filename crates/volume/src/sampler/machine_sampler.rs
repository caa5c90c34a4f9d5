//! The machine between two looks: what CPUs, disks and network did, and what memory holds.

use forebay_model::{
    ByteCount, CpuSample, DeviceSample, MachineSample, MemorySample, Micros, NetworkSample,
    PressureSample,
};

use forebay_os::proc::{self, Proc};

/// Looks at the machine; each look tells what happened since the one before.
#[derive(Debug, Default)]
pub struct MachineSampler {
    proc: Proc,
    cpu: proc::Cpu,
    disks: Vec<proc::Disk>,
    networks: Vec<proc::Network>,
    pressure: Option<proc::IoPressure>,
}

impl MachineSampler {
    /// From now on.
    #[must_use]
    pub fn start() -> MachineSampler {
        let mut watch = MachineSampler::default();
        // Only where the next look begins counts.
        let _ = watch.take_sample();
        watch
    }

    /// What happened since the last look; whoever asks says when that is. `None` where `/proc` does
    /// not tell.
    pub fn take_sample(&mut self) -> Option<MachineSample> {
        let cpu = self.proc.read_cpu_times().ok()?;
        let memory = self.proc.read_memory().ok()?;
        let disks = self.proc.read_disks().unwrap_or_default();
        let networks = self.proc.read_networks().unwrap_or_default();
        let pressure = self.proc.read_io_pressure().ok().flatten();
        let since = |now: u64, then: u64| Micros(now.saturating_sub(then));
        let old = &self.cpu;
        let sample = MachineSample {
            at: Micros(0),
            cpu: CpuSample {
                user: since(cpu.user_us, old.user_us),
                system: since(cpu.system_us, old.system_us),
                iowait: since(cpu.iowait_us, old.iowait_us),
                idle: since(cpu.idle_us, old.idle_us),
                steal: since(cpu.steal_us, old.steal_us),
            },
            memory: MemorySample {
                total: ByteCount(memory.total_bytes),
                available: ByteCount(memory.available_bytes),
                dirty: ByteCount(memory.dirty_bytes),
                writeback: ByteCount(memory.writeback_bytes),
                cached: ByteCount(memory.cached_bytes),
            },
            devices: disks.iter().filter_map(|now| device_activity(now, &self.disks)).collect(),
            networks: networks
                .iter()
                .filter_map(|now| network_activity(now, &self.networks))
                .collect(),
            pressure: pressure.as_ref().zip(self.pressure.as_ref()).map(|(now, then)| {
                PressureSample {
                    some: since(now.some_us, then.some_us),
                    full: since(now.full_us, then.full_us),
                }
            }),
        };
        (self.cpu, self.disks, self.networks, self.pressure) = (cpu, disks, networks, pressure);
        Some(sample)
    }
}

/// What a device did since then; `None` when it did nothing.
fn device_activity(now: &proc::Disk, before: &[proc::Disk]) -> Option<DeviceSample> {
    let then = before.iter().find(|disk| disk.name == now.name)?;
    let device = DeviceSample {
        name: now.name.clone(),
        read: ByteCount(now.read_bytes.saturating_sub(then.read_bytes)),
        written: ByteCount(now.written_bytes.saturating_sub(then.written_bytes)),
        reads: now.reads.saturating_sub(then.reads),
        writes: now.writes.saturating_sub(then.writes),
        busy: Micros(now.busy_us.saturating_sub(then.busy_us)),
    };
    (device.reads + device.writes > 0).then_some(device)
}

/// What an interface did since then; `None` when it did nothing, or for what never leaves the
/// machine.
fn network_activity(now: &proc::Network, before: &[proc::Network]) -> Option<NetworkSample> {
    let then = before.iter().find(|network| network.name == now.name)?;
    let network = NetworkSample {
        name: now.name.clone(),
        received: ByteCount(now.received_bytes.saturating_sub(then.received_bytes)),
        sent: ByteCount(now.sent_bytes.saturating_sub(then.sent_bytes)),
    };
    (now.name != "lo" && network.received.0 + network.sent.0 > 0).then_some(network)
}
