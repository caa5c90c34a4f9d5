//! Who makes a file, in the words of the table of tasks.

use super::Native;

/// Tells the name of the task of a thread.
pub(super) type TaskLookup = Box<dyn Fn(u32) -> Option<String> + Send + Sync>;

impl Native {
    /// Gives what tells the tasks of callers, for rules that ask for them.
    #[must_use]
    pub(crate) fn with_tasks(mut self, tasks: TaskLookup) -> Native {
        self.tasks = Some(tasks);
        self
    }

    /// The task of a thread that asks, by the programs that run.
    pub(super) fn task_of_thread(&self, thread: u32) -> Option<String> {
        self.tasks.as_ref()?(thread)
    }
}
