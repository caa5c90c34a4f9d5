//! What the workflow engine and its shells cost besides the tasks: before the first, for each, and
//! after the last.

use super::file_uses::FileUser;
use super::operations::OperationsByUser;
use super::sets::FileSets;
use super::timeline::Timeline;
use crate::loaded_run::LoadedRun;
use forebay_model::Seconds;
use forebay_model::workload::{FileClassId, FileSetAccess, FileSetId, TaskStep};
use std::collections::BTreeMap;

/// The engine's part, as steps.
#[derive(Clone, Debug)]
pub(super) struct EngineSteps {
    pub(super) name: String,
    /// Before the first task; `None`: no time worth a task.
    pub(super) start: Option<TaskStep>,
    /// Of each task.
    each: Option<TaskStep>,
    /// Files that it makes for tasks, by the place of the first task that uses them.
    made: BTreeMap<usize, Vec<FileSetAccess>>,
    /// After the last.
    pub(super) end: Option<TaskStep>,
}

/// Less is not worth a step.
const WORTH_SECS: f64 = 1e-3;
/// Files that it makes beside running tasks hold up nobody, but they are made all the same.
const PART_MIN: f64 = 1e-3;

impl EngineSteps {
    pub(super) fn from_rows(
        rows: &LoadedRun,
        line: &Timeline,
        gaps: &[f64],
        operations: &OperationsByUser,
        sets: &mut FileSets,
    ) -> Self {
        let drivers = || rows.tasks.iter().filter(|task| task.driver);
        let longest = drivers().max_by_key(|task| (task.ended, std::cmp::Reverse(task.id)));
        let waited: f64 = drivers().filter_map(|task| task.waited).map(|w| w.as_secs()).sum();
        let waited = waited + operations.awaited_requests(FileUser::Driver) * rows.way;
        let walls = [
            line.first_start(),
            capped_mean(gaps) * gaps.len() as f64,
            line.makespan - line.last_end(),
        ];
        let shares = phase_shares(rows, line, walls);
        // Whole accesses once: each phase has its part of them.
        let accesses = operations.accesses_of(FileUser::Driver, 1.0, sets, rows);
        let (made, accesses) = split_made_for_tasks(accesses, sets);
        let mut held_up = 0.0;
        let [start, each, end] = [0, 1, 2].map(|phase| {
            let (wall, waited) = (walls[phase], waited * shares[phase]);
            // What the engine did beside running tasks held up nobody.
            let seen = waited.min(wall);
            let part = if waited > 0.0 { shares[phase] * seen / waited } else { shares[phase] };
            held_up += part;
            let parts = accesses.iter().map(|access| scale_access(access, part)).collect();
            TaskStep { name: "engine".to_owned(), compute: Seconds(wall - seen), accesses: parts }
        });
        let worth = |step: TaskStep| {
            (step.compute.get() > WORTH_SECS || !step.accesses.is_empty()).then_some(step)
        };
        let tasks = line.ran.len().max(1);
        let each = worth(each).map(|step| share_per_task(&step, tasks, sets));
        let part = held_up.max(PART_MIN);
        let part_of_all =
            |all: Vec<FileSetAccess>| all.iter().map(|one| scale_access(one, part)).collect();
        let made = made.into_iter().map(|(task, all)| (task, part_of_all(all))).collect();
        let name = longest.map_or_else(|| "engine".to_owned(), |task| task.name.clone());
        Self {
            name,
            start: worth(start).filter(|_| walls[0] > WORTH_SECS),
            each: each.filter(|_| walls[1] > WORTH_SECS * tasks as f64),
            made,
            end: worth(end).filter(|_| walls[2] > WORTH_SECS),
        }
    }

    /// What it does before a task, by the task's place in the timeline.
    pub(super) fn step_before(&self, task: usize) -> Option<TaskStep> {
        let Some(made) = self.made.get(&task) else { return self.each.clone() };
        let nothing = || TaskStep { name: "engine".to_owned(), ..TaskStep::default() };
        let mut step = self.each.clone().unwrap_or_else(nothing);
        step.accesses.extend(made.iter().cloned());
        Some(step)
    }
}

/// Takes out what makes files that tasks use: the first of these tasks can't do without, however
/// many sets of files there are. By the place of that task, and what is left.
fn split_made_for_tasks(
    accesses: Vec<FileSetAccess>,
    sets: &FileSets,
) -> (BTreeMap<usize, Vec<FileSetAccess>>, Vec<FileSetAccess>) {
    let first_users = sets.first_users();
    let (mut made, mut rest) = (BTreeMap::<usize, Vec<FileSetAccess>>::new(), Vec::new());
    for access in accesses {
        match first_users.get(&access.files).filter(|_| access.makes_files()) {
            Some(&task) => made.entry(task).or_default().push(access),
            None => rest.push(access),
        }
    }
    (made, rest)
}

/// The mean, in which no gap counts for more than that of nine tasks in ten: a task that somebody
/// held back is not what the engine takes.
fn capped_mean(gaps: &[f64]) -> f64 {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(&most) = sorted.get(sorted.len() * 9 / 10) else { return 0.0 };
    sorted.iter().map(|gap| gap.min(most)).sum::<f64>() / sorted.len() as f64
}

/// Which parts of the engine's operations belong before, between and after the tasks: as its opens
/// did.
fn phase_shares(rows: &LoadedRun, line: &Timeline, walls: [f64; 3]) -> [f64; 3] {
    let mut opens = [0.0; 3];
    for open in &rows.opens {
        if open.task.is_some_and(|task| !line.place.contains_key(&task)) {
            let at = open.at.as_secs();
            opens[if at < line.first_start() {
                0
            } else {
                1 + usize::from(at > line.last_end())
            }] += 1.0;
        }
    }
    let counted = if opens.iter().sum::<f64>() > 0.0 { opens } else { walls };
    let all: f64 = counted.iter().sum();
    if all > 0.0 { counted.map(|part| part / all) } else { [0.0, 1.0, 0.0] }
}

fn scale_access(access: &FileSetAccess, part: f64) -> FileSetAccess {
    let bytes = |bytes: forebay_model::ByteCount| ((bytes.get() as f64 * part) as u64).into();
    FileSetAccess {
        files: access.files,
        ops: access.ops.iter().map(|&(key, count)| (key, count * part)).collect(),
        read: bytes(access.read),
        written: bytes(access.written),
    }
}

/// One task's part of what the engine did for all of them. It touches everything a little; of
/// classes that it touches least, the operations are put down to the one that it touches most, so
/// that many tasks stay small.
fn share_per_task(step: &TaskStep, tasks: usize, sets: &FileSets) -> TaskStep {
    const ACCESSES_MAX: usize = 40_000;
    let kept = (ACCESSES_MAX / tasks).clamp(1, 16);
    // A set that it makes stays apart, or nobody would seem to have made it.
    type Key = (FileClassId, Option<FileSetId>);
    let mut classes: BTreeMap<Key, (f64, FileSetAccess)> = BTreeMap::new();
    for access in &step.accesses {
        let part = scale_access(access, 1.0 / tasks as f64);
        let class = sets.files[access.files.index()].class;
        let of_class = classes.entry((class, access.makes_files().then_some(access.files)));
        let (count, sum) = of_class.or_insert_with(|| (0.0, scale_access(&part, 0.0)));
        *count += part.ops.iter().map(|(_, count)| count).sum::<f64>();
        merge_access(sum, &part);
    }
    let mut sorted: Vec<(f64, FileSetAccess)> = classes.into_values().collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rest = sorted.split_off(kept.min(sorted.len()));
    if let Some((_, most)) = sorted.first_mut() {
        rest.iter().for_each(|(_, access)| merge_access(most, access));
    }
    TaskStep {
        name: step.name.clone(),
        compute: step.compute * (1.0 / tasks as f64),
        accesses: sorted.into_iter().map(|(_, access)| access).collect(),
    }
}

fn merge_access(to: &mut FileSetAccess, more: &FileSetAccess) {
    to.read += more.read;
    to.written += more.written;
    let mut counts: BTreeMap<usize, f64> =
        to.ops.iter().map(|&(key, count)| (key.index(), count)).collect();
    for &(key, count) in &more.ops {
        *counts.entry(key.index()).or_default() += count;
    }
    let keys = counts.into_iter();
    to.ops = keys
        .filter_map(|(index, count)| Some((forebay_model::OpKey::from_index(index)?, count)))
        .filter(|(_, count)| *count > 0.0)
        .collect();
}
