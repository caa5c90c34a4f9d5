//! From one run to its workload: what there was to do, apart from where it ran.
//!
//! Who wrote and who read a file says what waits for what; wall time without waits for storage is
//! computing; operations and bytes come as they were counted. What one run can't show is an
//! [`Assumption`](forebay_model::workload::Assumption), never a guess without a word. What it is
//! not: a judgement of the storage that the run had; that is [`fit`](crate::fit).

mod blocked;
mod doubts;
mod drawn_names;
mod edges;
mod emptied_folders;
mod engine;
mod file_uses;
mod inferred;
mod kinds;
mod operations;
mod order;
mod passing_names;
mod pipes;
mod redirected;
mod rerun;
mod sample_wildcards;
mod sets;
pub(crate) mod task_sequence;
mod timeline;

use crate::loaded_run::LoadedRun;
use crate::prepared_problem::ForebayOverhead;
use doubts::LearningGaps;
use edges::TaskDependencies;
use engine::EngineSteps;
use file_uses::FileUser;
use forebay_model::summary::{StorageVerdict, TimeSplit};
use forebay_model::workload::{Task, TaskId, TaskStep, WorkloadError};
use forebay_model::{Run, Seconds, Workload};
use kinds::TaskKindIndex;
use operations::OperationsByUser;
use passing_names::PassingNames;
use sets::FileSets;
use timeline::Timeline;

pub(crate) use timeline::SLACK;

/// Operations that take less on average are the work of a kernel, not the wait for a device.
const QUICK_SECS: f64 = 2e-4;

/// What a run teaches.
#[derive(Clone, Debug, PartialEq)]
pub struct LearntRun {
    /// The run file.
    pub run: String,
    /// What there was to do.
    pub workload: Workload,
    /// The storages that it ran on, as they behaved.
    pub storages: Vec<crate::fit::FittedStorage>,
    /// How it went, to compare a simulation with.
    pub measured: MeasuredRun,
    /// What Forebay itself takes on that machine.
    pub own: ForebayOverhead,
    /// Folders that were left empty, and that may be on a tier as a whole next time, relative to the
    /// managed directory.
    pub emptied_folders: Vec<String>,
}

/// How the run went.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRun {
    /// From the start to the end of the command.
    pub makespan: Seconds,
    /// The most cores that its tasks took at once.
    pub slots: u32,
    /// Where the tasks' time went, as every view of the run says it.
    pub time: TimeSplit,
    /// Whether storage held it up, as every view of the run says it.
    pub verdict: Option<StorageVerdict>,
}

/// Why nothing can be learnt from a run, with the run's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LearnError(String);

/// Learns the workload of a run, measured, simulated or imported.
///
/// # Errors
/// The run can't be read, has no task, or its tasks wait for each other in a circle; the message
/// names the file and the place.
pub fn learn_workload(run: &Run) -> Result<LearntRun, LearnError> {
    let path = run.path().display();
    let mut rows = LoadedRun::read_from_run(run).map_err(|error| LearnError(error.to_string()))?;
    // As every view of the run says it, whatever is joined below.
    let time = TimeSplit::from_tasks(rows.tasks.iter().filter(|task| !task.driver));
    redirected::find_programs(&mut rows);
    pipes::join_pipes(&mut rows);
    drawn_names::join_drawn_names(&mut rows);
    sample_wildcards::join_samples(&mut rows);
    let passing = PassingNames::join_names(&mut rows);
    let learnt = learn_from_rows(&rows, &passing).map(|mut learnt| {
        learnt.measured.time = time;
        learnt
    });
    let named = learnt.map(|learnt| LearntRun { run: path.to_string(), ..learnt });
    named.map_err(|why| LearnError(format!("cannot learn from run file {path}: {why}")))
}

fn learn_from_rows(rows: &LoadedRun, passing: &PassingNames) -> Result<LearntRun, String> {
    let mut line = Timeline::from_rows(rows);
    if line.ran.is_empty() {
        return Err("it has no task".to_owned());
    }
    let files = file_uses::collect_used_files(rows, &line);
    let edges = TaskDependencies::from_rows(rows, &line, &files)?;
    line.delay_starts(&edges.after);
    let gaps = line.engine_gaps(&edges.ready_times(&line));
    let operations = OperationsByUser::from_rows(rows, &line);
    // The engine's first task, if there is one, comes before all others.
    let base = u32::from(line.first_start() > 0.0);
    let mut place = vec![TaskId(0); line.ran.len()];
    for (at, &task) in edges.order.iter().enumerate() {
        place[task] = TaskId(base + at as u32);
    }
    let mut sets = FileSets::from_rows(rows, &line, &files, &place);
    let engine = EngineSteps::from_rows(rows, &line, &gaps, &operations, &mut sets);
    let mut work = Workload { name: command_name(rows), ordered: true, ..Workload::default() };
    let mut kinds = TaskKindIndex::default();
    if base == 1 {
        work.tasks.push(kinds.engine_task(
            &mut work.kinds,
            &engine,
            "start",
            vec![],
            &engine.start,
        ));
    }
    let blocked = blocked::blocked_time_by_task(rows, &line);
    let (mut idle, mut walls) = (0.0, 0.0);
    for &at in &edges.order {
        let ran = &line.ran[at];
        let row = &rows.tasks[ran.row];
        let cpu = row.cpu_user.unwrap_or_default() + row.cpu_system.unwrap_or_default();
        let (wall, busy) = (ran.end - ran.start, cpu.as_secs() / f64::from(ran.cores));
        let waited = row.waited.map_or(0.0, |waited| waited.as_secs());
        let with_ways = waited + operations.awaited_requests(FileUser::Task(at)) * rows.way;
        // While a task computes it waits for nothing. But a kernel's work is in the price of quick
        // operations already: they count in full, and what they took is no computing.
        let quick = waited < QUICK_SECS * operations.count(FileUser::Task(at));
        let held = blocked[at];
        let blocked = held.seconds.min(if quick { wall } else { wall - busy }).max(0.0);
        // Of operations that run beside each other, or beside computing, the task waits for a part.
        let factor = match held.part {
            Some(part) if quick => part,
            _ if waited > 0.0 => blocked / with_ways,
            _ => 1.0,
        };
        idle += (wall - blocked - busy).max(0.0);
        walls += wall;
        let step = TaskStep {
            name: row.name.clone(),
            compute: Seconds(wall - blocked),
            accesses: operations.accesses_of(FileUser::Task(at), factor, &mut sets, rows),
        };
        let mut after: Vec<TaskId> = edges.after[at].iter().map(|&before| place[before]).collect();
        if after.is_empty() && base == 1 {
            after.push(TaskId(0));
        }
        work.tasks.push(Task {
            kind: kinds.intern_by_name(&mut work.kinds, &row.name, ran.cores, row.memory),
            key: row.key.clone(),
            after,
            steps: engine.step_before(at).into_iter().chain([step]).collect(),
        });
    }
    if engine.end.is_some() {
        let last = edges.final_tasks().iter().map(|&at| place[at]).collect();
        work.tasks.push(kinds.engine_task(&mut work.kinds, &engine, "end", last, &engine.end));
    }
    let found = LearningGaps {
        bytes_guessed: sets.guessed_share(),
        strange: operations.strange,
        idle: if walls > 0.0 { idle / walls } else { 0.0 },
        order_guessed: edges.guessed.then(|| 1.0 - line.work_over_width() / line.makespan),
    };
    work.doubts = doubts::collect_doubts(rows, &line, &found);
    (work.classes, work.files) = sets.into_classes_and_files(passing, rows);
    work.ensure_valid().map_err(|flaw: WorkloadError| flaw.to_string())?;
    let measured = MeasuredRun {
        makespan: Seconds(line.makespan),
        slots: line.slots,
        time: TimeSplit::from_tasks(rows.tasks.iter().filter(|task| !task.driver)),
        verdict: rows.verdict.clone(),
    };
    let (run, storages) = (String::new(), crate::fit::fit_storages(rows));
    let own = ForebayOverhead { request: Seconds(rows.way), remembers_answers: true };
    let emptied_folders = emptied_folders::find_emptied_folders(rows);
    Ok(LearntRun { run, workload: work, storages, measured, own, emptied_folders })
}

/// The command, as far as it is short.
fn command_name(rows: &LoadedRun) -> String {
    const CHARACTERS_MAX: usize = 60;
    let words = rows.header.command.iter().map(|word| String::from_utf8_lossy(word));
    let line = words.collect::<Vec<_>>().join(" ");
    if line.is_empty() { "run".to_owned() } else { line.chars().take(CHARACTERS_MAX).collect() }
}

#[cfg(test)]
mod tests;
