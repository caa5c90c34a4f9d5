//! The critical path: the chain of tasks, each of which read what the one before had written, that
//! takes longest. However many slots there are, the run takes no less while its tasks take as long.

use std::collections::HashMap;

use forebay_model::run::TaskRow;
use forebay_model::{FileId, Micros};
use serde_json::{Value, json};

use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_columns::column;
use crate::commands::report::strings::StringTable;

/// Starts are known to a tick of the kernel's clock (10 ms), ends exactly.
const TICKS: u64 = 20_000;

/// The longest chain that ends with a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TaskChain {
    /// Time of its tasks, summed.
    long: u64,
    /// The task before, and the file between them.
    before: Option<(usize, FileId)>,
}

/// What it is made of.
struct TaskFileUse {
    from: Micros,
    to: Micros,
    reads: Vec<FileId>,
    writes: Vec<FileId>,
}

/// Its tasks as places in `tasks`; `null`: no file is known that leads from one to another.
pub(super) fn critical_path(
    run: &IndexedRun,
    tasks: &[&TaskRow],
    strings: &mut StringTable,
) -> Value {
    let used: Vec<TaskFileUse> = tasks.iter().map(|task| task_use(run, task)).collect();
    let Some(chain) = longest_chain(&used) else { return Value::Null };
    let path = |file: &Option<FileId>, strings: &mut StringTable| {
        strings.intern_optional(file.and_then(|file| run.file_by_id(file)).map(|file| &*file.path))
    };
    let wall = chain.iter().map(|(at, _)| used[*at].to.since(used[*at].from).0).sum::<u64>();
    json!({
        "wall_us": wall,
        "n": chain.len(),
        "task": column(chain.iter().map(|(at, _)| at)),
        "through": column(chain.iter().map(|(_, file)| path(file, strings))),
    })
}

fn task_use(run: &IndexedRun, task: &TaskRow) -> TaskFileUse {
    let (from, to) = run.task_times(task).unwrap_or_default();
    let pairs = run.opened.pairs_of_task(task.id);
    TaskFileUse {
        from,
        to,
        reads: pairs.iter().filter(|(_, pair)| pair.reads).map(|((_, file), _)| *file).collect(),
        writes: pairs.iter().filter(|(_, pair)| pair.wrote).map(|((_, file), _)| *file).collect(),
    }
}

/// From the first to the last, each with the file that leads to it; `None`: no task leads to another.
fn longest_chain(used: &[TaskFileUse]) -> Option<Vec<(usize, Option<FileId>)>> {
    // A task counts for those that begin when it has ended; one without a length ends after itself.
    let begin =
        |task: &TaskFileUse| Micros((task.from.0 + TICKS).min(task.to.0.max(task.from.0 + 1) - 1));
    let begins = used.iter().enumerate().map(|(at, task)| (begin(task), true, at));
    let ends =
        used.iter().enumerate().map(|(at, task)| (task.to.max(Micros(task.from.0 + 1)), false, at));
    let mut events: Vec<(Micros, bool, usize)> = begins.chain(ends).collect();
    events.sort_unstable();
    let mut chains = vec![TaskChain::default(); used.len()];
    let mut wrote: HashMap<FileId, usize> = HashMap::new();
    for (_, begins, at) in events {
        let task = &used[at];
        if begins {
            let writers = task.reads.iter().filter_map(|file| Some((*wrote.get(file)?, *file)));
            let before = writers.max_by_key(|(writer, file)| {
                (chains[*writer].long, std::cmp::Reverse((*writer, *file)))
            });
            let until = before.map_or(0, |(writer, _)| chains[writer].long);
            // One without a length is longer than none.
            let own = task.to.since(task.from).0.max(1);
            chains[at] = TaskChain { long: until + own, before };
        } else {
            for file in &task.writes {
                let best = wrote.entry(*file).or_insert(at);
                if chains[at].long > chains[*best].long {
                    *best = at;
                }
            }
        }
    }
    if chains.iter().all(|chain| chain.before.is_none()) {
        return None;
    }
    let last = (0..used.len()).max_by_key(|at| (chains[*at].long, std::cmp::Reverse(*at)));
    let mut found = Vec::new();
    let mut next = last;
    while let Some(at) = next {
        found.push((at, chains[at].before.map(|(_, file)| file)));
        next = chains[at].before.map(|(before, _)| before);
    }
    found.reverse();
    Some(found)
}

#[cfg(test)]
mod tests {
    //! If this fails, a reader shortens tasks that keep nobody waiting.
    use super::*;

    fn task(from: u64, to: u64, reads: &[u32], writes: &[u32]) -> TaskFileUse {
        let files = |all: &[u32]| all.iter().map(|id| FileId(*id)).collect();
        let seconds = Micros::from_secs;
        TaskFileUse {
            from: seconds(from),
            to: seconds(to),
            reads: files(reads),
            writes: files(writes),
        }
    }

    fn chain(used: &[TaskFileUse]) -> Vec<usize> {
        longest_chain(used).unwrap_or_default().into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn the_longest_chain_by_files_is_found() {
        let used = [
            task(0, 10, &[], &[1]),
            task(0, 30, &[], &[2]),
            task(10, 50, &[1], &[3]),
            task(30, 35, &[2], &[4]),
            task(50, 60, &[3, 4], &[5]),
            // As long as nothing else, but it needs nobody, and nobody needs it.
            task(0, 55, &[], &[9]),
        ];
        assert_eq!(chain(&used), [0, 2, 4]);
        let found = longest_chain(&used).expect("a chain");
        let through: Vec<_> = found.into_iter().map(|(_, file)| file).collect();
        assert_eq!(through, [None, Some(FileId(1)), Some(FileId(3))]);
    }

    #[test]
    fn only_what_had_ended_before_leads_to_a_task() {
        // One that still writes, one that reads its own file, and two of no length at the same moment.
        let used = [task(0, 20, &[], &[1]), task(10, 30, &[1, 2], &[2]), task(30, 30, &[2], &[3])];
        assert_eq!(chain(&used), [1, 2]);
        let used = [task(5, 5, &[1], &[1]), task(5, 5, &[1], &[1])];
        assert_eq!(longest_chain(&used), None, "no task leads to another");
        assert_eq!(longest_chain(&[]), None);
    }

    #[test]
    fn one_long_task_may_be_all_of_it() {
        let used = [task(0, 1, &[], &[1]), task(1, 2, &[1], &[2]), task(0, 9, &[], &[3])];
        assert_eq!(chain(&used), [2]);
    }

    #[test]
    fn a_start_that_a_tick_put_too_early_is_no_overlap() {
        let mut used = [task(0, 1, &[], &[1]), task(1, 2, &[1], &[2])];
        used[1].from = Micros(used[0].to.0 - 9_000);
        assert_eq!(chain(&used), [0, 1]);
    }
}
