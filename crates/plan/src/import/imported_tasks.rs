//! Tasks as records tell them, and the facts of a run file that say the same.

mod imported_files;

use forebay_model::{
    ByteCount, Fact, Header, Micros, OpenSession, ProcessId, ReportedTask, RunEnd, RunOrigin,
};
use imported_files::ImportedFiles;
use std::collections::BTreeMap;

/// What records tell of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRun {
    /// What people call it.
    pub name: String,
    /// Tasks that ran.
    pub tasks: Vec<ImportedTask>,
    /// What a reader should know of the records.
    pub notes: Vec<String>,
    /// Tasks that had not ended, or not begun, when the records were written.
    pub left_out: u64,
    /// Cores of the machine.
    pub cpus: Option<u32>,
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedTask {
    /// Process, rule or program.
    pub name: String,
    /// What tells it from others of its name.
    pub key: Option<String>,
    /// Microseconds since 1970.
    pub started: Option<i64>,
    /// The same.
    pub ended: Option<i64>,
    /// How long it ran, in microseconds, where that is all that is told.
    pub lasted: Option<i64>,
    /// Its status.
    pub exit_status: Option<i64>,
    /// CPU, in microseconds.
    pub cpu: Option<u64>,
    /// Cores that it was given.
    pub cores: Option<u32>,
    /// The most memory that it took.
    pub memory: Option<u64>,
    /// Bytes read at most.
    pub rchar: Option<u64>,
    /// Bytes written at most.
    pub wchar: Option<u64>,
    /// Places of tasks that it waited for.
    pub after: Vec<usize>,
    /// Files that it used.
    pub files: Vec<ImportedFileUse>,
}

/// A file that a task used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedFileUse {
    /// Its name.
    pub path: String,
    /// Its size, if known.
    pub size: Option<u64>,
    /// It was written, not read.
    pub write: bool,
}

impl ImportedRun {
    /// A task that ends before it begins met a clock that was set back.
    fn fix_reversed_times(&mut self) {
        let mut stepped = 0;
        for task in &mut self.tasks {
            if let (Some(started), Some(ended)) = (task.started, task.ended)
                && ended < started
            {
                task.ended = Some(started.saturating_add(task.lasted.unwrap_or(0).max(0)));
                stepped += 1;
            }
        }
        if stepped > 0 {
            let nouns =
                if stepped == 1 { "task ended before it" } else { "tasks ended before they" };
            self.notes.push(format!(
                "{stepped} {nouns} began, by a clock that was set back: taken to have lasted as \
                 long as the records say, or no time"
            ));
        }
    }

    /// The run that this tells. Tasks for which no times are told begin when those that they wait
    /// for are done.
    pub(super) fn into_facts(mut self, engine: &str) -> Result<(Header, Vec<Fact>), String> {
        self.lay_out_times()?;
        if self.left_out > 0 {
            let noun = if self.left_out == 1 { "task that" } else { "tasks that" };
            self.notes.push(format!(
                "{} {noun} had not ended, or not begun, when this was recorded: left out",
                self.left_out
            ));
        }
        self.fix_reversed_times();
        let known = || self.tasks.iter().flat_map(|task| [task.started, task.ended]).flatten();
        let first = known().min().unwrap_or(0);
        let since = |at: i64| Micros(at.abs_diff(first));
        let last = known().max().map_or(Micros::ZERO, since);
        let mut more: Vec<(String, String)> = Vec::new();
        for (number, note) in self.notes.iter().enumerate() {
            more.push((format!("note_{}", number + 1), note.clone()));
        }
        let header = Header {
            origin: RunOrigin::Imported,
            started_unix: Micros(u64::try_from(first).unwrap_or(0)),
            command: vec![self.name.clone().into_bytes()],
            cpus: self.cpus,
            more,
            ..Header::default()
        };
        let mut files = ImportedFiles::default();
        let mut facts = Vec::new();
        for (place, task) in self.tasks.iter().enumerate() {
            let process = process_id_at(place);
            facts.push(Fact::Task(ReportedTask {
                process,
                name: task.name.clone(),
                engine: engine.to_owned(),
                key: task.key.clone(),
                after: task.after.iter().map(|&before| process_id_at(before)).collect(),
                started: task.started.map(since),
                ended: task.ended.map(since),
                exit_status: task.exit_status,
                cpu_user: task.cpu.map(Micros),
                rchar: task.rchar.map(ByteCount),
                wchar: task.wchar.map(ByteCount),
                cores: task.cores,
                memory: task.memory.map(ByteCount),
                ..ReportedTask::default()
            }));
            let opened = task.started.map_or(Micros::ZERO, since);
            let closed = task.ended.map(since);
            for used in &task.files {
                let file = files.intern_file(&used.path, &mut facts);
                let size = used.size.map(ByteCount);
                facts.push(Fact::Open(OpenSession {
                    process,
                    file,
                    write: used.write,
                    created: used.write,
                    opened,
                    closed,
                    read: None,
                    wrote: None,
                    size_at_open: if used.write { Some(ByteCount::ZERO) } else { size },
                    size_at_close: size,
                    hidden: true,
                    copy: None,
                }));
            }
        }
        let end = RunEnd { at: last, exit: None, cpu_user: None, cpu_system: None, complete: true };
        facts.push(Fact::Ended(end));
        Ok((header, facts))
    }

    /// Gives times to tasks of which only the length is told.
    fn lay_out_times(&mut self) -> Result<(), String> {
        let needs = |task: &ImportedTask| task.started.is_none() && task.lasted.is_some();
        if !self.tasks.iter().any(needs) {
            return Ok(());
        }
        let mut left: Vec<usize> = self.tasks.iter().map(|task| task.after.len()).collect();
        let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, task) in self.tasks.iter().enumerate() {
            task.after.iter().for_each(|&before| behind.entry(before).or_default().push(place));
        }
        let mut free: Vec<usize> = (0..left.len()).filter(|&place| left[place] == 0).collect();
        let mut done = 0;
        while let Some(place) = free.pop() {
            done += 1;
            if needs(&self.tasks[place]) {
                let ends =
                    self.tasks[place].after.iter().map(|&b| self.tasks[b].ended.unwrap_or(0));
                let start = ends.max().unwrap_or(0);
                let task = &mut self.tasks[place];
                task.started = Some(start);
                task.ended = task.lasted.map(|lasted| start.saturating_add(lasted));
            }
            for &next in behind.get(&place).into_iter().flatten() {
                left[next] -= 1;
                if left[next] == 0 {
                    free.push(next);
                }
            }
        }
        if done < left.len() {
            let waits = left.iter().position(|&left| left > 0).map(|place| &self.tasks[place]);
            let name = waits.map_or("", |task| &task.name);
            return Err(format!("tasks wait for each other in a circle, {name:?} among them"));
        }
        self.notes.push("times are laid out: the records tell only how long tasks ran".to_owned());
        Ok(())
    }
}

fn process_id_at(place: usize) -> ProcessId {
    ProcessId(place as u32 + 1)
}
