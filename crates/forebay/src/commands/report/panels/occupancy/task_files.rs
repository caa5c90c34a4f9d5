//! Which files each task used: all of them, as far as a page has room.

use std::cmp::Reverse;

use forebay_model::run::TaskRow;
use serde_json::{Value, json};

use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::column;
use crate::commands::report::strings::StringTable;

/// All tasks together list about so many.
const MOST: usize = 75_000;

pub(super) struct TaskFileTable {
    pub(super) table: Value,
    /// What is left out.
    pub(super) note: Option<String>,
}

/// Those of each task, most bytes first.
pub(super) fn task_file_table(
    run: &IndexedRun,
    tasks: &[&TaskRow],
    strings: &mut StringTable,
) -> TaskFileTable {
    let counts: Vec<usize> =
        tasks.iter().map(|task| run.opened.pairs_of_task(task.id).len()).collect();
    let each = files_per_task(&counts, MOST);
    let (mut at, mut kept) = (vec![0], Vec::new());
    for task in tasks {
        let pairs = run.opened.pairs_of_task(task.id).iter();
        let mut of_task: Vec<_> = pairs.map(|((_, file), pair)| (*file, *pair)).collect();
        of_task.sort_by_key(|(file, pair)| (Reverse(pair.read + pair.written), *file));
        kept.extend(of_task.into_iter().take(each));
        at.push(kept.len());
    }
    let path = |strings: &mut StringTable, file| {
        run.file_by_id(file).map_or(-1, |file| strings.intern_name(&file.path))
    };
    let cut = counts.iter().filter(|count| **count > each).count();
    let table = json!({
        "at": at,
        "left": column(counts.iter().map(|count| count.saturating_sub(each))),
        "path": column(kept.iter().map(|(file, _)| path(strings, *file))),
        "read_bytes":
            column(kept.iter().map(|(_, pair)| (!pair.read_hidden).then_some(pair.read))),
        "written_bytes":
            column(kept.iter().map(|(_, pair)| (!pair.write_hidden).then_some(pair.written))),
        "read_at_least_bytes": column(kept.iter().map(|(_, pair)| {
            (pair.read_hidden && pair.read > 0).then_some(pair.read)
        })),
        "written_at_least_bytes": column(kept.iter().map(|(_, pair)| {
            (pair.write_hidden && pair.written > 0).then_some(pair.written)
        })),
    });
    let note = (cut > 0).then(|| {
        format!(
            "{} used more files than this page lists, and a search finds the {each} with most \
             bytes of each.",
            if cut == 1 { "1 task".to_owned() } else { format!("{cut} tasks") }
        )
    });
    TaskFileTable { table, note }
}

/// How many of each task fit if all together may be `most`; one at least.
fn files_per_task(counts: &[usize], most: usize) -> usize {
    let all = |each: usize| counts.iter().map(|count| (*count).min(each)).sum::<usize>();
    let (mut low, mut high) = (1, counts.iter().copied().max().unwrap_or(1).max(1));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if all(middle) <= most { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::files_per_task;

    #[test]
    fn all_files_are_listed_as_long_as_there_is_room() {
        for (counts, most, expected) in [
            (&[][..], 10, 1),
            (&[0, 0], 10, 1),
            (&[2, 3, 5], 10, 5),
            (&[2, 3, 6], 10, 5),
            (&[1, 1, 100], 10, 8),
            (&[9, 9, 9], 2, 1),
        ] {
            assert_eq!(files_per_task(counts, most), expected, "{counts:?} of {most}");
        }
    }
}
