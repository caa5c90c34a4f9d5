//! Who did what to which file: opens, gathered by file and task.

use super::timeline::Timeline;
use crate::loaded_run::{LoadedOpen, LoadedRun};
use forebay_model::run::TaskRow;
use forebay_model::{ByteCount, ClassId, FileId, TreeId};
use std::collections::{BTreeMap, BTreeSet};

/// A log that every task writes to, and many read: a reader waits for no more of its writers.
const WRITERS_MAX: usize = 1_000;

/// Who used a file: a place in the timeline, or the engine and its shells, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileUser {
    Task(usize),
    Driver,
}

impl FileUser {
    pub(super) fn task(&self) -> Option<usize> {
        match self {
            Self::Task(task) => Some(*task),
            Self::Driver => None,
        }
    }
}

/// What one of them did to one file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct FileUseTotals {
    pub(super) opens: u64,
    /// Of these, those that wrote bytes.
    pub(super) wrote: u64,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Bytes that were seen, and what is assumed where they were not.
    pub(super) read: EstimatedBytes,
    pub(super) written: EstimatedBytes,
}

/// Bytes, seen and guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct EstimatedBytes {
    pub(super) seen: u64,
    /// Of reads that nobody saw: the size of the file.
    pub(super) guessed: u64,
}

impl EstimatedBytes {
    pub(super) fn total_bytes(self) -> u64 {
        self.seen.saturating_add(self.guessed)
    }

    fn add_bytes(&mut self, seen: Option<u64>, guess: u64) {
        match seen {
            Some(bytes) => self.seen = self.seen.saturating_add(bytes),
            None => self.guessed = self.guessed.saturating_add(guess),
        }
    }
}

/// One file from the moment it was made. A name that is made anew is another file.
#[derive(Clone, Debug)]
pub(super) struct FileHistory {
    /// Its place in `rows.files`.
    pub(super) row: usize,
    pub(super) class: ClassId,
    pub(super) bytes: u64,
    pub(super) gone: Option<f64>,
    pub(super) uses: BTreeMap<FileUser, FileUseTotals>,
    /// Who waited for whom: (reader, writer).
    pub(super) waits: Vec<(usize, usize)>,
    /// Tasks that have written to it so far, in the order of their first time.
    writers: Vec<usize>,
    writing: BTreeSet<usize>,
    touched: bool,
}

/// All files that were opened.
pub(super) fn collect_used_files(rows: &LoadedRun, line: &Timeline) -> Vec<FileHistory> {
    let numbers: BTreeMap<FileId, usize> =
        rows.files.iter().enumerate().map(|(at, file)| (file.id, at)).collect();
    let mut newest: BTreeMap<(TreeId, &[u8]), usize> = BTreeMap::new();
    let mut all: Vec<FileHistory> = Vec::new();
    for open in &rows.opens {
        // A file of a run that was cut short may have no name.
        let Some(&row) = numbers.get(&open.file) else { continue };
        let file = &rows.files[row];
        let name = (file.tree, file.path.as_slice());
        let known = newest.get(&name).copied();
        let at = match known.filter(|&at| !(open.created && all[at].touched)) {
            Some(at) => at,
            None => {
                all.push(FileHistory::new(row, file.class));
                newest.insert(name, all.len() - 1);
                all.len() - 1
            }
        };
        if let Some(gone) = rows.gone.get(&open.file) {
            all[at].gone = Some(gone.as_secs());
        }
        all[at].add_open(open, line);
    }
    cap_guessed_bytes(rows, line, &mut all);
    all
}

/// Reads and writes that nobody saw are at most what `/proc` counted, less what was seen.
fn cap_guessed_bytes(rows: &LoadedRun, line: &Timeline, files: &mut [FileHistory]) {
    type Side = (fn(&mut FileUseTotals) -> &mut EstimatedBytes, fn(&TaskRow) -> Option<ByteCount>);
    let sides: [Side; 2] = [
        (|used| &mut used.read, |task| task.rchar_upper),
        (|used| &mut used.written, |task| task.wchar_upper),
    ];
    for (bytes, most) in sides {
        let mut sums = vec![EstimatedBytes::default(); line.ran.len()];
        for (who, used) in files.iter_mut().flat_map(|file| &mut file.uses) {
            if let FileUser::Task(at) = who {
                let (sum, used) = (&mut sums[*at], bytes(used));
                sum.seen = sum.seen.saturating_add(used.seen);
                sum.guessed = sum.guessed.saturating_add(used.guessed);
            }
        }
        for (who, used) in files.iter_mut().flat_map(|file| &mut file.uses) {
            let FileUser::Task(at) = who else { continue };
            let Some(most) = most(&rows.tasks[line.ran[*at].row]) else { continue };
            let (sum, used) = (sums[*at], bytes(used));
            let room = most.get().saturating_sub(sum.seen);
            if room < sum.guessed {
                let part = room as f64 / sum.guessed as f64;
                used.guessed = (used.guessed as f64 * part) as u64;
            }
        }
    }
}

impl FileHistory {
    fn new(row: usize, class: ClassId) -> Self {
        Self {
            row,
            class,
            bytes: 0,
            gone: None,
            uses: BTreeMap::new(),
            waits: Vec::new(),
            writers: Vec::new(),
            writing: BTreeSet::new(),
            touched: false,
        }
    }

    fn add_open(&mut self, open: &LoadedOpen, line: &Timeline) {
        self.touched = true;
        let place = |task: Option<u32>| task.and_then(|task| line.place.get(&task).copied());
        let program = place(open.program);
        let task = program.or(place(open.task));
        let before = open.size_before.unwrap_or(0);
        let after = open.size_after.unwrap_or(before);
        // Bytes of a file may be read many times.
        let is_known = open.size_before.or(open.size_after).is_some();
        let read = open.read.filter(|_| !is_known).unwrap_or(0);
        self.bytes = self.bytes.max(before).max(after).max(read);
        // Nobody saw whether it read: one who opens a file only to read it does.
        let reads = open.read.map_or(!open.write, |bytes| bytes > 0);
        let writes = open.created || open.write && open.wrote != Some(0);
        if program.is_some() {
            self.uses.entry(FileUser::Driver).or_default().opens += 1;
        }
        let used = self.uses.entry(task.map_or(FileUser::Driver, FileUser::Task)).or_default();
        used.opens += u64::from(program.is_none());
        used.reads |= reads;
        used.writes |= writes;
        let grown = after.saturating_sub(before);
        used.read.add_bytes(open.read, if reads { before } else { 0 });
        used.written.add_bytes(open.wrote, if open.write { grown } else { 0 });
        let has_written =
            open.wrote.map_or(open.write && open.size_after != Some(0), |bytes| bytes > 0);
        used.wrote += u64::from(has_written);
        let Some(task) = task else { return };
        if reads {
            let writers = self.writers.iter().rev().take(WRITERS_MAX);
            let waits = writers.filter(|&&writer| line.ended_before(writer, task));
            self.waits.extend(waits.map(|&writer| (task, writer)));
        }
        if writes && self.writing.insert(task) {
            self.writers.push(task);
        }
    }
}
