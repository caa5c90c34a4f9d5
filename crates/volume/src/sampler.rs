//! Looks at the machine and at the run's processes once in a while: CPU, memory, devices, pressure,
//! files held open outside the covered trees. It takes differences and tells them; it keeps none.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use forebay_model::{
    ByteCount, Cpu, Device, Fact, Memory, Micros, Outside, Pressure, ProcessId, Sample,
};

use crate::proc::{self, Proc};
use crate::processes::Processes;
use crate::recorder::Recorder;

/// Between two looks for new processes.
const LOOK: Duration = Duration::from_millis(250);
/// On a machine full of processes looking takes long: at most one part in so many of one core.
const SHARE: u32 = 100;
/// But never less often than this.
const LONGEST: Duration = Duration::from_secs(5);
/// Looks for each full sample: one a second.
const LOOKS_PER_SAMPLE: u32 = 4;

/// Directories whose files every program opens: not worth telling.
const EVERYBODYS: [&[u8]; 9] =
    [b"/usr/", b"/lib", b"/etc/", b"/dev/", b"/proc/", b"/sys/", b"/run/", b"/bin/", b"/opt/"];

/// What the last sample saw.
#[derive(Default)]
struct Before {
    cpu: proc::Cpu,
    disks: Vec<proc::Disk>,
    pressure: Option<proc::IoPressure>,
}

/// Samples until `stop` is closed.
pub fn sample(
    recorder: &Arc<Recorder>,
    processes: &Processes,
    trees: &[PathBuf],
    stop: &Receiver<()>,
) {
    let mut proc = Proc::default();
    let mut before = Before::default();
    let _ = take(&mut proc, &mut before);
    let mut looks = 0;
    let mut pause = LOOK;
    while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(pause) {
        looks += 1;
        let full = looks % LOOKS_PER_SAMPLE == 0;
        let began = recorder.clock().nanos();
        processes.survey(full);
        let took = Duration::from_nanos(recorder.clock().nanos() - began);
        pause = LOOK.max(took * SHARE).min(LONGEST);
        if full {
            if let Some(mut sample) = take(&mut proc, &mut before) {
                sample.at = recorder.clock().now();
                recorder.tell(Fact::Sample(sample));
            }
            for (id, pid) in processes.living() {
                outside(&mut proc, recorder, trees, id, pid);
            }
        }
    }
    processes.survey(true);
    if let Some(mut sample) = take(&mut proc, &mut before) {
        sample.at = recorder.clock().now();
        recorder.tell(Fact::Sample(sample));
    }
}

fn take(proc: &mut Proc, before: &mut Before) -> Option<Sample> {
    let cpu = proc.cpu().ok()?;
    let memory = proc.memory().ok()?;
    let disks = proc.disks().unwrap_or_default();
    let pressure = proc.io_pressure().ok().flatten();
    let since = |now: u64, then: u64| Micros(now.saturating_sub(then));
    let old = &before.cpu;
    let sample = Sample {
        at: Micros(0),
        cpu: Cpu {
            user: since(cpu.user_us, old.user_us),
            system: since(cpu.system_us, old.system_us),
            iowait: since(cpu.iowait_us, old.iowait_us),
            idle: since(cpu.idle_us, old.idle_us),
            steal: since(cpu.steal_us, old.steal_us),
        },
        memory: Memory {
            total: ByteCount(memory.total_bytes),
            available: ByteCount(memory.available_bytes),
            dirty: ByteCount(memory.dirty_bytes),
            writeback: ByteCount(memory.writeback_bytes),
            cached: ByteCount(memory.cached_bytes),
        },
        devices: disks.iter().filter_map(|now| device(now, &before.disks)).collect(),
        pressure: pressure.as_ref().zip(before.pressure.as_ref()).map(|(now, then)| Pressure {
            some: since(now.some_us, then.some_us),
            full: since(now.full_us, then.full_us),
        }),
    };
    *before = Before { cpu, disks, pressure };
    Some(sample)
}

/// What a device did since then; `None` when it did nothing.
fn device(now: &proc::Disk, before: &[proc::Disk]) -> Option<Device> {
    let then = before.iter().find(|disk| disk.name == now.name)?;
    let device = Device {
        name: now.name.clone(),
        read: ByteCount(now.read_bytes.saturating_sub(then.read_bytes)),
        written: ByteCount(now.written_bytes.saturating_sub(then.written_bytes)),
        reads: now.reads.saturating_sub(then.reads),
        writes: now.writes.saturating_sub(then.writes),
        busy: Micros(now.busy_us.saturating_sub(then.busy_us)),
    };
    (device.reads + device.writes > 0).then_some(device)
}

/// Tells of regular files that a process holds open outside the covered trees.
fn outside(proc: &mut Proc, recorder: &Recorder, trees: &[PathBuf], process: ProcessId, pid: u32) {
    use std::os::unix::ffi::OsStrExt;
    for file in proc.open_files(pid).unwrap_or_default() {
        let target = file.target.as_slice();
        let everybodys = EVERYBODYS.iter().any(|dir| target.starts_with(dir));
        let covered = trees.iter().any(|tree| {
            target
                .strip_prefix(tree.as_os_str().as_bytes())
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        });
        let position = file.info.position_bytes;
        if !target.starts_with(b"/") || everybodys || covered || position == 0 {
            continue;
        }
        let directory = match target.iter().rposition(|byte| *byte == b'/') {
            Some(0) | None => b"/".to_vec(),
            Some(at) => target[..at].to_vec(),
        };
        let write = file.info.flags & libc::O_ACCMODE as u32 != 0;
        let bytes = ByteCount(position);
        recorder.tell(Fact::Outside(Outside { process, directory, bytes, write }));
    }
}
