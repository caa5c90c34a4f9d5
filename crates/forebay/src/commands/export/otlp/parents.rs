//! Which task started which: by the processes of both.

use std::collections::HashMap;

use forebay_model::ProcessId;
use forebay_model::run::ProcessRow;

/// The topmost process of each task that was seen first.
pub(super) fn first_processes(processes: &[ProcessRow]) -> HashMap<u32, &ProcessRow> {
    let task_of: HashMap<ProcessId, Option<u32>> =
        processes.iter().map(|process| (process.id, process.task)).collect();
    let mut first = HashMap::new();
    for process in processes {
        let above = process.parent.and_then(|parent| task_of.get(&parent).copied().flatten());
        if let Some(task) = process.task
            && above != process.task
        {
            // Processes come in the order of their numbers: the first is the earliest.
            first.entry(task).or_insert(process);
        }
    }
    first
}

/// The task that started each, where processes tell it. No task is above itself: one row stands for
/// all shells, say, and some of these start what starts others.
pub(super) fn parent_tasks(processes: &[ProcessRow]) -> HashMap<u32, u32> {
    let by_id: HashMap<ProcessId, &ProcessRow> =
        processes.iter().map(|process| (process.id, process)).collect();
    let mut first: Vec<(u32, &ProcessRow)> = first_processes(processes).into_iter().collect();
    // The one that was seen first is nearest to the command, and finds its parent before others do.
    first.sort_unstable_by_key(|(_, process)| process.id);
    let mut parents: HashMap<u32, u32> = HashMap::new();
    for (task, process) in first {
        let above = process.parent.and_then(|parent| by_id.get(&parent)?.task);
        if let Some(above) = above.filter(|above| *above != task)
            && !is_below(above, task, &parents)
        {
            parents.insert(task, above);
        }
    }
    parents
}

/// Whether the way up from a task leads through another.
fn is_below(task: u32, other: u32, parents: &HashMap<u32, u32>) -> bool {
    std::iter::successors(Some(task), |task| parents.get(task).copied()).any(|task| task == other)
}

#[cfg(test)]
mod tests {
    //! If this fails, a span hangs below itself, and no viewer shows the trace.
    use super::*;

    fn process(id: u32, parent: Option<u32>, task: u32) -> ProcessRow {
        ProcessRow {
            id: ProcessId(id),
            parent: parent.map(ProcessId),
            task: Some(task),
            ..ProcessRow::default()
        }
    }

    #[test]
    fn tasks_are_below_those_that_started_them_and_never_below_themselves() {
        // An engine (1) starts shells (2), of which one starts the engine again, and one a task (3).
        let all = [
            process(1, None, 1),
            process(2, Some(1), 2),
            process(3, Some(2), 1),
            process(4, Some(3), 2),
            process(5, Some(4), 3),
            process(6, Some(5), 3),
            // Whose parent is not in the record.
            process(7, Some(99), 4),
        ];
        let parents = parent_tasks(&all);
        assert_eq!(parents, HashMap::from([(2, 1), (3, 2)]));
        assert_eq!(first_processes(&all)[&3].id, ProcessId(5));
        // Seen in another order: the shells' first process is below the engine, which is below it.
        let circle = [process(1, Some(2), 1), process(2, Some(1), 2)];
        assert_eq!(parent_tasks(&circle), HashMap::from([(1, 2)]));
    }
}
