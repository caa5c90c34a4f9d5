//! Whether a workload is one: every reference leads somewhere, nothing waits for itself, and no
//! number is absurd.

use crate::ByteCount;

use super::{DeletionPoint, FileSetAccess, TaskId, TaskStep, Workload};

/// Why this can't be worked on, and where it is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(String);

/// Longer than any computation: a hundred years.
const SECONDS_MAX: f64 = 3.2e9;

impl Workload {
    /// Looks at all of it once; everything that works on a workload may rely on it afterwards.
    ///
    /// # Errors
    /// The first flaw, named by task and step.
    pub fn ensure_valid(&self) -> Result<(), WorkloadError> {
        if self.tasks.is_empty() {
            return Err(WorkloadError(format!("workload {:?} has no task", self.name)));
        }
        for (number, set) in self.files.iter().enumerate() {
            let steps = |task: TaskId| self.tasks.get(task.index()).map(|task| task.steps.len());
            let freed = match set.until {
                DeletionPoint::End => true,
                DeletionPoint::Task(task) => steps(task).is_some(),
                DeletionPoint::Step(task, step) => {
                    steps(task).is_some_and(|steps| (step as usize) < steps)
                }
            };
            let nothing = set.count == 0 && set.bytes > ByteCount::ZERO;
            let bad = set.class.index() >= self.classes.len() || !freed || nothing;
            if bad {
                let why =
                    "has no class, bytes of no files, or is freed by a task that is not there";
                return Err(WorkloadError(format!("file set {number} {why}")));
            }
        }
        for number in 0..self.tasks.len() {
            self.check_task(number)
                .map_err(|why| WorkloadError(format!("{}: {why}", self.describe_task(number))))?;
        }
        Ok(())
    }

    fn describe_task(&self, number: usize) -> String {
        let task = &self.tasks[number];
        let kind = self.kinds.get(task.kind.index()).map_or("of no kind", |kind| &kind.name);
        let key = task.key.as_deref().unwrap_or_default();
        format!("task {number} ({kind} {key})").replace(" )", ")")
    }

    fn check_task(&self, number: usize) -> Result<(), String> {
        let task = &self.tasks[number];
        let Some(kind) = self.kinds.get(task.kind.index()) else {
            return Err("its kind is not there".to_owned());
        };
        if let Some(later) = task.after.iter().find(|before| before.index() >= number) {
            return Err(format!(
                "it waits for task {}, which does not come before it: tasks that wait for each \
                 other in a circle never start",
                later.0
            ));
        }
        if kind.cores == 0 && !task.steps.is_empty() {
            return Err("it takes no core, so it can't do anything".to_owned());
        }
        task.steps.iter().try_for_each(|step| self.check_step(step))
    }

    fn check_step(&self, step: &TaskStep) -> Result<(), String> {
        let time = step.compute.get();
        if !(0.0..=SECONDS_MAX).contains(&time) {
            return Err(format!("step {:?} computes for {time} seconds", step.name));
        }
        let fits = |access: &FileSetAccess| {
            access.files.index() < self.files.len()
                && access.ops.iter().all(|(_, count)| (0.0..1e15).contains(count))
        };
        match step.accesses.iter().position(|access| !fits(access)) {
            None => Ok(()),
            Some(at) => Err(format!(
                "access {at} of step {:?} is to files that are not there, or counts absurdly many \
                 operations",
                step.name
            )),
        }
    }
}
