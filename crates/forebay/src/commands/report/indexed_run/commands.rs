//! What each task was told to do: the words of its topmost process.

use std::collections::HashMap;

use forebay_model::ProcessId;
use forebay_model::run::ProcessRow;

/// The words by task; nothing of a task whose words were not seen.
pub(super) fn commands_by_task(processes: &[ProcessRow]) -> HashMap<u32, Vec<Vec<u8>>> {
    let task_of: HashMap<ProcessId, Option<u32>> =
        processes.iter().map(|process| (process.id, process.task)).collect();
    let mut commands = HashMap::new();
    for process in processes {
        let parents = process.parent.and_then(|parent| task_of.get(&parent).copied().flatten());
        if let Some(task) = process.task
            && parents != process.task
            && !process.argv.is_empty()
        {
            // Processes come in the order of their numbers: the first is the earliest.
            commands.entry(task).or_insert_with(|| process.argv.clone());
        }
    }
    commands
}
