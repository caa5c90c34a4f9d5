//! Who makes a file, in the words of the table of tasks.

use std::cell::Cell;

use super::Native;

/// Tells the name of the task of a thread.
pub(super) type Tasks = Box<dyn Fn(u32) -> Option<String> + Send + Sync>;

thread_local!(
    /// The thread whose request this thread serves.
    static CALLER: Cell<u32> = const { Cell::new(0) }
);

pub(super) fn note(thread: u32) {
    CALLER.set(thread);
}

impl Native {
    /// Gives what tells the tasks of callers, for rules that ask for them.
    #[must_use]
    pub(crate) fn with_tasks(mut self, tasks: Tasks) -> Native {
        self.tasks = Some(tasks);
        self
    }

    /// The task of who asks, by the programs that run.
    pub(super) fn caller_task(&self) -> Option<String> {
        self.tasks.as_ref()?(CALLER.get())
    }
}
