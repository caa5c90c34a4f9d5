//! What a run did to its storage, from its run file.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use forebay_model::run::TaskRow;
use forebay_model::summary::TimeSplit;
use forebay_model::{ByteCount, FileId, Micros, Op, OpGroup, Result, Run};
use forebay_plan::cost;
use serde::{Deserialize, Serialize};

use super::outside_writes::{self, EndedCommand, OutsideWrites};
use super::phases::{self, Phase};

/// What was recorded of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedRun {
    /// Operations by kind, as run files name them.
    pub(super) ops: BTreeMap<String, u64>,
    /// Of these, on names and attributes.
    pub(super) names: u64,
    /// Of these, reads, writes and what makes files durable.
    pub(super) data: u64,
    /// Bytes that the storage was asked for.
    pub(super) read_bytes: u64,
    /// Bytes that it was given.
    pub(super) written_bytes: u64,
    /// The most that lay there at a time.
    pub(super) peak_bytes: u64,
    /// Share of their time that tasks waited for it.
    pub(super) waited_share: Option<f64>,
    pub(super) phases: Vec<Phase>,
    /// `None`: not known.
    pub(super) outside: Option<OutsideWrites>,
}

impl RecordedRun {
    /// What was done on all nodes, from the record of each.
    pub(super) fn read_all_nodes(files: &[PathBuf], ended: &EndedCommand<'_>) -> Result<Self> {
        if let [file] = files {
            return Self::read_run_file(file, ended);
        }
        // What all of them sent is not known of one.
        let each = EndedCommand { sent: None, ..*ended };
        let mut all = Self::default();
        let (mut waited, mut told) = (0.0, 0.0);
        for file in files {
            let one = Self::read_run_file(file, &each)?;
            one.ops.into_iter().for_each(|(op, count)| *all.ops.entry(op).or_default() += count);
            all.names += one.names;
            all.data += one.data;
            all.read_bytes += one.read_bytes;
            all.written_bytes += one.written_bytes;
            // All of them see one storage.
            all.peak_bytes = all.peak_bytes.max(one.peak_bytes);
            waited += one.waited_share.unwrap_or(0.0);
            told += f64::from(u8::from(one.waited_share.is_some()));
        }
        all.waited_share = (told > 0.0).then(|| waited / told);
        Ok(all)
    }

    /// Reads a run file, and what the bench knows of the same run.
    pub(super) fn read_run_file(file: &Path, ended: &EndedCommand<'_>) -> Result<Self> {
        let run = Run::open(file)?;
        let mut tasks = run.tasks()?;
        // Who mounted it looked into it, too.
        let own = |task: &TaskRow| task.driver && task.name.starts_with("forebay ");
        let others: Vec<u32> = tasks.iter().filter(|task| own(task)).map(|task| task.id).collect();
        tasks.retain(|task| !own(task));
        let mut recorded = Self { peak_bytes: peak_live_bytes(&run)?, ..Self::default() };
        let mut copied = 0;
        for row in run.operation_rows()? {
            if row.task.is_some_and(|task| others.contains(&task)) {
                continue;
            }
            let op = row.kind.op();
            match op.map(Op::group) {
                Some(OpGroup::Data | OpGroup::Sync) => recorded.data += row.count,
                _ => recorded.names += row.count,
            }
            match op {
                Some(Op::Read) => recorded.read_bytes += row.bytes.get(),
                Some(Op::Write) => recorded.written_bytes += row.bytes.get(),
                Some(Op::CopyRange) => copied += row.bytes.get(),
                _ => {}
            }
            *recorded.ops.entry(row.kind.name().to_owned()).or_default() += row.count;
        }
        recorded.waited_share = storage_wait_share(&tasks);
        recorded.phases = phases::task_phases(&tasks);
        let writes = recorded.ops.get(Op::Write.name()).copied().unwrap_or(0);
        recorded.outside = outside_writes::find_outside_writes(
            &run,
            &tasks,
            (recorded.written_bytes, writes),
            ended,
        )?;
        // The storage reads and writes what it copies; no program sent it.
        recorded.read_bytes += copied;
        recorded.written_bytes += copied;
        Ok(recorded)
    }

    /// What of it is paid for.
    pub(super) fn billable_use(&self) -> cost::RecordedUsage {
        let op = |(name, count): (&String, &u64)| Some((Op::from_name(name)?, *count));
        cost::RecordedUsage {
            ops: self.ops.iter().filter_map(op).collect(),
            read: ByteCount(self.read_bytes),
            written: ByteCount(self.written_bytes),
            peak: ByteCount(self.peak_bytes),
        }
    }
}

/// Of tasks, or of the shells that did all themselves.
fn storage_wait_share(tasks: &[TaskRow]) -> Option<f64> {
    let shells_alone = tasks.iter().all(|task| task.driver);
    TimeSplit::from_tasks(tasks.iter().filter(|task| shells_alone || !task.driver)).storage_share()
}

/// The most bytes that files held at a time, each counted with its largest size for as long as it
/// was there.
fn peak_live_bytes(run: &Run) -> Result<u64> {
    let mut files: HashMap<FileId, (Micros, u64)> = HashMap::new();
    run.for_each_open(|row| {
        let sizes = [row.open.size_at_open, row.open.size_at_close];
        let size = sizes.into_iter().flatten().max().unwrap_or_default().get();
        let file = files.entry(row.open.file).or_insert((row.open.opened, 0));
        *file = (file.0.min(row.open.opened), file.1.max(size));
    })?;
    let gone: HashMap<FileId, Micros> = run.removal_times()?.into_iter().collect();
    let mut changes: Vec<(Micros, i64)> = Vec::new();
    for (file, (made, bytes)) in files {
        changes.push((made, bytes as i64));
        changes.extend(gone.get(&file).map(|gone| (*gone, -(bytes as i64))));
    }
    changes.sort_unstable();
    let mut there = 0;
    let sums = changes.into_iter().map(|(_, change)| {
        there += change;
        there
    });
    Ok(sums.max().unwrap_or(0).max(0) as u64)
}
