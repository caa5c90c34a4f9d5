//! What a run file says, as far as a workload is learnt from it: read once, then only looked at.

use forebay_model::run::{IoWait, OpRow, ProcessRow, TaskRow};
use forebay_model::summary::StorageVerdict;
use forebay_model::{
    ByteCount, ClassId, DirectoryTree, FileId, FileRecord, Header, Micros, ProcessId, Run, RunEnd,
    Summary,
};
use std::collections::BTreeMap;

/// One open file; smaller than the row of the file, for there are many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadedOpen {
    pub(crate) process: ProcessId,
    /// `tasks.task`.
    pub(crate) task: Option<u32>,
    /// The task whose program reads or writes it, where a shell opened it for that.
    pub(crate) program: Option<u32>,
    pub(crate) file: FileId,
    pub(crate) write: bool,
    pub(crate) created: bool,
    pub(crate) at: Micros,
    pub(crate) read: Option<u64>,
    pub(crate) wrote: Option<u64>,
    pub(crate) size_before: Option<u64>,
    pub(crate) size_after: Option<u64>,
}

/// A run in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadedRun {
    pub(crate) header: Header,
    pub(crate) ended: Option<RunEnd>,
    pub(crate) complete: bool,
    pub(crate) trees: Vec<DirectoryTree>,
    pub(crate) tasks: Vec<TaskRow>,
    pub(crate) waits: Vec<(u32, u32)>,
    pub(crate) processes: Vec<ProcessRow>,
    /// What each process waited for.
    pub(crate) waited: BTreeMap<ProcessId, IoWait>,
    /// Seconds that a request took on its way to Forebay and back, beside what it did there; 0: not
    /// known.
    pub(crate) way: f64,
    pub(crate) classes: BTreeMap<u32, String>,
    pub(crate) files: Vec<FileRecord>,
    /// Those that were renamed, by their first names.
    pub(crate) first_names: Vec<FileRecord>,
    pub(crate) gone: BTreeMap<FileId, Micros>,
    pub(crate) opens: Vec<LoadedOpen>,
    pub(crate) ops: Vec<OpRow>,
    /// Whether storage held the run up, as all views say it; `None`: without a task.
    pub(crate) verdict: Option<StorageVerdict>,
    /// The share of all bytes that were noticed outside of the covered trees.
    pub(crate) outside_share: Option<f64>,
    /// The share of all cores' time that others took during the run, Forebay itself among them.
    pub(crate) others_share: Option<f64>,
    /// Programs that took work elsewhere.
    pub(crate) not_seen: Vec<(String, u64)>,
}

impl LoadedRun {
    pub(crate) fn read_from_run(run: &Run) -> forebay_model::Result<Self> {
        let mut opens = Vec::new();
        run.for_each_open(|row| {
            let open = row.open;
            let size = |size: Option<ByteCount>| size.map(ByteCount::get);
            opens.push(LoadedOpen {
                process: open.process,
                task: row.task,
                program: None,
                file: open.file,
                write: open.write,
                created: open.created,
                at: open.opened,
                read: open.read.map(|io| io.bytes.get()),
                wrote: open.wrote.map(|io| io.bytes.get()),
                size_before: size(open.size_at_open),
                size_after: size(open.size_at_close),
            });
        })?;
        // Rows come in the order of closing; what was there first matters here.
        opens.sort_by_key(|open| (open.at, open.file));
        let summary = Summary::from_run(run)?;
        let header = run.header()?;
        Ok(Self {
            way: header.request_latency().map_or(0.0, |way| way.get()),
            header,
            ended: run.ended()?,
            complete: run.is_complete()?,
            trees: run.trees()?,
            tasks: run.tasks()?,
            waits: run.task_dependencies()?,
            processes: run.processes()?,
            waited: run.io_wait_by_process()?.into_iter().collect(),
            classes: run.classes()?.into_iter().map(|(id, pattern)| (id.0, pattern)).collect(),
            files: run.files()?,
            first_names: run.first_names()?,
            gone: run.removal_times()?.into_iter().collect(),
            opens,
            ops: run.operation_rows()?,
            verdict: summary.verdict,
            outside_share: summary.outside.share,
            others_share: others_cpu_share(run)?,
            not_seen: run.unseen_programs()?,
        })
    }
}

impl LoadedRun {
    /// Gives classes other patterns; those that have one pattern then are one class, with the lowest
    /// of their numbers.
    pub(crate) fn rename_classes(&mut self, patterns: BTreeMap<u32, String>) {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut number_of: BTreeMap<u32, u32> = BTreeMap::new();
        for (id, pattern) in patterns {
            number_of.insert(id, *numbers.entry(pattern).or_insert(id));
        }
        let renumber =
            |class: &mut ClassId| class.0 = number_of.get(&class.0).copied().unwrap_or(class.0);
        self.files.iter_mut().for_each(|file| renumber(&mut file.class));
        self.first_names.iter_mut().for_each(|file| renumber(&mut file.class));
        self.ops.iter_mut().for_each(|op| renumber(&mut op.class));
        self.classes = numbers.into_iter().map(|(pattern, id)| (id, pattern)).collect();
    }

    /// Operations that a process waited for.
    pub(crate) fn requests_of(&self, process: ProcessId) -> f64 {
        self.waited.get(&process).map_or(0.0, |waited| waited.requests as f64)
    }

    /// Seconds that a process waited for its operations, and for their way to Forebay and back.
    pub(crate) fn io_wait_seconds(&self, process: ProcessId) -> f64 {
        let waited = self.waited.get(&process).copied().unwrap_or_default();
        waited.nanos as f64 / 1e9 + waited.requests as f64 * self.way
    }
}

/// Of the machine's CPU time during the run, what the command and its descendants did not use.
fn others_cpu_share(run: &Run) -> forebay_model::Result<Option<f64>> {
    /// Less is too coarse to tell.
    const SAMPLES_MIN: usize = 5;
    let samples = run.samples()?;
    let own = run.ended()?.and_then(|end| Some(end.cpu_user? + end.cpu_system?));
    let Some(own) = own.filter(|_| samples.len() >= SAMPLES_MIN) else { return Ok(None) };
    let (mut busy, mut all) = (Micros::ZERO, Micros::ZERO);
    for cpu in samples.iter().map(|sample| sample.cpu) {
        let used = cpu.user + cpu.system + cpu.steal;
        busy += used;
        all += used + cpu.idle + cpu.iowait;
    }
    Ok((all > Micros::ZERO).then(|| busy.since(own).as_secs() / all.as_secs()))
}
