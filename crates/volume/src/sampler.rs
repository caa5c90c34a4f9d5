//! Looks at the machine and at the run's processes once in a while: CPU, memory, devices, pressure,
//! network, files held open outside the covered trees. It takes differences and tells them; it keeps
//! none.

mod machine_sampler;

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use forebay_model::{ByteCount, Fact, OutsideFile, ProcessId};

use crate::processes::ProcessTable;
use crate::recorder::Recorder;
use forebay_os::proc::{OpenFile, Proc};
pub use machine_sampler::MachineSampler;

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

/// Samples until `stop` is closed.
pub fn sample_until_stopped(
    recorder: &Arc<Recorder>,
    processes: &ProcessTable,
    trees: &[PathBuf],
    stop: &Receiver<()>,
) {
    let mut proc = Proc::default();
    let mut machine = MachineSampler::start();
    let mut looks = 0;
    let mut pause = LOOK;
    while let Err(RecvTimeoutError::Timeout) = stop.recv_timeout(pause) {
        looks += 1;
        let full = looks % LOOKS_PER_SAMPLE == 0;
        let began = recorder.clock().elapsed_nanos();
        processes.scan_running(full);
        let took = Duration::from_nanos(recorder.clock().elapsed_nanos() - began);
        pause = LOOK.max(took * SHARE).min(LONGEST);
        if full {
            if let Some(mut sample) = machine.take_sample() {
                sample.at = recorder.clock().now();
                recorder.record_fact(Fact::Sample(sample));
            }
            for (id, pid) in processes.list_living() {
                record_outside_files(&mut proc, recorder, trees, id, pid);
            }
        }
    }
    processes.scan_running(true);
    if let Some(mut sample) = machine.take_sample() {
        sample.at = recorder.clock().now();
        recorder.record_fact(Fact::Sample(sample));
    }
}

/// Tells of files that a process holds open outside the covered trees.
fn record_outside_files(
    proc: &mut Proc,
    recorder: &Recorder,
    trees: &[PathBuf],
    process: ProcessId,
    pid: u32,
) {
    for file in proc.list_open_files(pid).unwrap_or_default() {
        if !has_moved_outside(&file, trees) {
            continue;
        }
        let target = file.target.as_slice();
        let directory = match target.iter().rposition(|byte| *byte == b'/') {
            Some(0) | None => b"/".to_vec(),
            Some(at) => target[..at].to_vec(),
        };
        let write = file.info.flags & libc::O_ACCMODE as u32 != 0;
        let bytes = ByteCount(file.info.position_bytes);
        recorder.record_fact(Fact::Outside(OutsideFile { process, directory, bytes, write }));
    }
}

/// Whether bytes of this file were moved, as its position says, in no covered tree and in no
/// directory of everybody's.
fn has_moved_outside(file: &OpenFile, trees: &[PathBuf]) -> bool {
    let target = file.target.as_slice();
    let everybodys = EVERYBODYS.iter().any(|dir| target.starts_with(dir));
    let covered = trees.iter().any(|tree| {
        target
            .strip_prefix(tree.as_os_str().as_bytes())
            .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    });
    // Positions of directories are no bytes: ext4 has hashes of names, and at the end 2^63 - 1.
    let is_directory = file.info.flags & libc::O_DIRECTORY as u32 != 0;
    let moved = file.info.position_bytes > 0 && !is_directory;
    moved && target.starts_with(b"/") && !everybodys && !covered
}

#[cfg(test)]
mod tests {
    use forebay_os::proc::parse_fd_info;

    use super::*;

    /// An open file of `/data` as `/proc` describes it.
    fn open_file(flags: i32, position: u64) -> OpenFile {
        let text = format!("pos:\t{position}\nflags:\t0{flags:o}\nmnt_id:\t29\n");
        let info = parse_fd_info(text.as_bytes()).expect("proc(5)");
        OpenFile { fd: 3, target: b"/data/x".to_vec(), info }
    }

    /// If this fails, a listing of a directory on ext4 is told as 16 EiB that nobody covered.
    #[test]
    fn positions_of_directories_are_no_bytes() {
        let trees = [PathBuf::from("/covered")];
        assert!(!has_moved_outside(&open_file(libc::O_DIRECTORY, i64::MAX as u64), &trees));
        assert!(has_moved_outside(&open_file(libc::O_CLOEXEC, 4096), &trees));
        assert!(!has_moved_outside(&open_file(libc::O_CLOEXEC, 0), &trees));
        assert!(!has_moved_outside(&open_file(libc::O_CLOEXEC, 4096), &["/data".into()]));
    }
}
