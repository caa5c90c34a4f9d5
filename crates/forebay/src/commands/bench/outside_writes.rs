//! What a run wrote outside its directory: bytes that meet no storage that is compared.
//!
//! The kernel counts what a command and all that it waited for sent to storage; what did not go to
//! the fresh directory, and is not its output in the log, went elsewhere. Files that were open for
//! a second or more were seen there besides. Both are minima: what lies in memory (`/dev/shm`) and
//! what is open for a moment only is not counted.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use forebay_model::run::{ProcessRow, TaskRow};
use forebay_model::{ByteCount, ProcessId, Result, Run};
use serde::{Deserialize, Serialize};

/// What the kernel may have counted of a write to the fresh directory besides its bytes: pages of
/// which it has a part, at both ends.
const PAGES: u64 = 2 * 4096;
/// How often it may have counted the bytes themselves: where it collects them it counts each write
/// and each page (Linux 6.18).
const COUNTED: u64 = 2;
/// Pages that are written whole, and a program's own small files.
const NOISE: u64 = 64 << 10;
/// A page of the log is sent to storage again if it grows so much later.
const SENT_AGAIN_S: f64 = 5.0;
/// Of these more are not named.
const NAMED_MAX: usize = 3;

/// What was written elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OutsideWrites {
    /// At least so many.
    pub(super) bytes: u64,
    /// Who wrote most of them, where that was seen.
    pub(super) programs: Vec<String>,
    /// Where to, where that was seen.
    pub(super) directories: Vec<String>,
}

impl OutsideWrites {
    /// Does it matter beside what went to the storage?
    pub(super) fn is_significant(&self, written: u64) -> bool {
        self.bytes > written / 100
    }
}

/// What the bench knows of a command that has ended.
#[derive(Debug)]
pub(super) struct EndedCommand<'a> {
    /// Bytes that it and its children sent to storage, by the kernel's account.
    pub(super) sent: Option<u64>,
    /// Where its output went.
    pub(super) log: &'a Path,
    pub(super) seconds: f64,
}

/// `written`: bytes that went to the fresh directory, by so many writes. `None`: the kernel does not
/// tell.
pub(super) fn find_outside_writes(
    run: &Run,
    tasks: &[TaskRow],
    (written, writes): (u64, u64),
    ended: &EndedCommand<'_>,
) -> Result<Option<OutsideWrites>> {
    let Some(sent) = ended.sent else { return Ok(None) };
    let log = match std::fs::metadata(ended.log).map_or(0, |log| log.len()) {
        0 => 0,
        bytes => bytes + 4096 * (ended.seconds / SENT_AGAIN_S) as u64,
    };
    let results = ended.log.parent().and_then(|dir| dir.canonicalize().ok()).unwrap_or_default();
    let processes = run.processes()?;
    let mut seen = 0;
    let mut by_program: BTreeMap<String, u64> = BTreeMap::new();
    let mut by_directory: BTreeMap<String, u64> = BTreeMap::new();
    for row in run.outside_files()?.into_iter().filter(|row| row.write) {
        if row.directory == results.as_os_str().as_bytes() {
            continue;
        }
        seen += row.bytes.get();
        let directory = String::from_utf8_lossy(&row.directory).into_owned();
        *by_directory.entry(directory).or_default() += row.bytes.get();
        if let Some(name) = task_name_of(&processes, tasks, row.process) {
            *by_program.entry(name).or_default() += row.bytes.get();
        }
    }
    let counted = sent.saturating_sub(written * COUNTED + writes * PAGES + log);
    let mut own = own_bytes_sent(&processes, &bytes_inside_by_process(run)?);
    // Who opened a file is not always who wrote to it, and not all counters were seen: names that
    // do not add up are not told.
    if own.values().sum::<u64>().abs_diff(counted + log) > counted / 10 {
        own.clear();
    }
    for (process, bytes) in own {
        if let Some(name) =
            task_name_of(&processes, tasks, process).filter(|_| bytes >= NOISE + log)
        {
            *by_program.entry(name).or_default() += bytes;
        }
    }
    let bytes = Some(counted.max(seen)).filter(|bytes| *bytes >= NOISE).unwrap_or(0);
    let most = |by: BTreeMap<String, u64>| {
        let mut by: Vec<_> = by.into_iter().filter(|_| bytes > 0).collect();
        by.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        by.into_iter().map(|(name, _)| name).take(NAMED_MAX).collect()
    };
    Ok(Some(OutsideWrites { bytes, programs: most(by_program), directories: most(by_directory) }))
}

/// Bytes that each process wrote to the fresh directory, with those that the storage copied for it:
/// who copies as much as it writes elsewhere is not named.
fn bytes_inside_by_process(run: &Run) -> Result<BTreeMap<ProcessId, u64>> {
    let mut inside: BTreeMap<ProcessId, u64> = BTreeMap::new();
    run.for_each_open(|row| {
        let wrote = row.open.wrote.map_or(ByteCount::ZERO, |io| io.bytes);
        *inside.entry(row.open.process).or_default() += wrote.get();
    })?;
    Ok(inside)
}

/// What each process itself sent elsewhere: the kernel counts what it waited for, too.
fn own_bytes_sent(
    processes: &[ProcessRow],
    inside: &BTreeMap<ProcessId, u64>,
) -> BTreeMap<ProcessId, u64> {
    const DEEPEST: usize = 64;
    let parents: BTreeMap<ProcessId, ProcessId> =
        processes.iter().filter_map(|row| Some((row.id, row.parent?))).collect();
    let mut with_children: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for (process, bytes) in inside {
        let above = std::iter::successors(Some(*process), |one| parents.get(one).copied());
        above.take(DEEPEST).for_each(|one| *with_children.entry(one).or_default() += bytes);
    }
    let sent = |row: &ProcessRow| {
        let sent = row.counters.as_ref()?.io.as_ref()?.write_bytes.get();
        let inside = with_children.get(&row.id).copied().unwrap_or(0) * COUNTED;
        Some((row.id, sent.saturating_sub(inside)))
    };
    let all: BTreeMap<ProcessId, u64> = processes.iter().filter_map(sent).collect();
    let mut own = all.clone();
    for (process, bytes) in &all {
        if let Some(above) = parents.get(process).and_then(|parent| own.get_mut(parent)) {
            *above = above.saturating_sub(*bytes);
        }
    }
    own
}

/// What people call a process: the name of its task.
fn task_name_of(processes: &[ProcessRow], tasks: &[TaskRow], process: ProcessId) -> Option<String> {
    let task = processes.iter().find(|row| row.id == process)?.task?;
    tasks.iter().find(|row| row.id == task).map(|row| row.name.clone())
}

#[cfg(test)]
mod tests {
    //! If this fails, a shell is blamed for what its children wrote.
    use super::*;
    use forebay_model::{Micros, ProcessCounters, ProcessIo};

    #[test]
    fn each_process_answers_for_its_own_bytes() {
        let row = |id, parent: Option<u32>, sent| {
            let io = ProcessIo {
                rchar: ByteCount(0),
                wchar: ByteCount(0),
                read_bytes: ByteCount(0),
                write_bytes: ByteCount(sent),
            };
            let id = ProcessId(id);
            let none = Micros::ZERO;
            let counters = ProcessCounters {
                id,
                at: none,
                user: none,
                system: none,
                children_user: none,
                children_system: none,
                io: Some(io),
            };
            let parent = parent.map(ProcessId);
            ProcessRow { id, parent, counters: Some(counters), ..ProcessRow::default() }
        };
        // A shell with a child that writes 30 inside, which count twice, and 5 elsewhere, and itself
        // 2 elsewhere.
        let processes = [row(0, None, 67), row(1, Some(0), 65)];
        let inside = BTreeMap::from([(ProcessId(1), 30)]);
        let own = own_bytes_sent(&processes, &inside);
        assert_eq!(own, BTreeMap::from([(ProcessId(0), 2), (ProcessId(1), 5)]));
    }
}
