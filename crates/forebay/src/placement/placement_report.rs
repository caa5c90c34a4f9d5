//! Words for what became of files on tiers.

use std::path::Path;

use forebay_model::{Rules, Run};
use forebay_volume::ipc::WriteBackProgress;
use forebay_volume::ipc::WriteBackReport;

use super::file_counts::{count_files, files_and_bytes};
use crate::{console, write_back_progress};

/// Says which rules were for no file of the run: who wrote them meant some.
pub(crate) fn report_unused_rules(rules: &Rules, file: &Path, run: &Path) {
    // A run that can't be read has been told.
    let Ok(files) = Run::open(run).and_then(|run| run.files()) else { return };
    let unused = rules.unmatched_rules(files.iter().map(|file| file.path.as_slice()));
    let numbers: Vec<String> = unused.iter().map(usize::to_string).collect();
    let file = file.display();
    match &numbers[..] {
        [] if rules.unmatched_rules(std::iter::empty()).is_empty() => {
            console::note(&format!("{file} has no [[rule]]: all files stayed in place"));
        }
        [] => {}
        [one] => console::note(&format!("rule {one} of {file} matched no file of this run")),
        [rest @ .., last] => console::note(&format!(
            "rules {} and {last} of {file} matched no file of this run",
            rest.join(", ")
        )),
    }
}

/// Says what became of the files that lay on tiers. True if all that belong in place are there,
/// and none failed to be made safe.
pub(crate) fn report_write_back(told: &WriteBackReport) -> bool {
    let parts = [
        ("written back", told.brought),
        ("discarded", told.discarded),
        ("kept on their tier", told.kept),
        ("published", told.published),
    ];
    let done: Vec<String> = parts
        .into_iter()
        .filter(|(_, (files, _))| *files > 0)
        .map(|(what, (files, bytes))| format!("{} {what}", files_and_bytes(files, bytes)))
        .collect();
    if !done.is_empty() {
        console::note(&done.join(", "));
    }
    if told.spilled.0 > 0 {
        let (files, why) = &told.spilled;
        console::note(&format!("{} stayed in place against the rules: {why}", count_files(*files)));
    }
    told.cache.iter().for_each(super::cache_messages::report_cache_use);
    if told.nameless > 0 {
        console::note(&format!(
            "{} on tiers without a name in place (moved or removed from outside); `forebay restore \
             {}` finds them",
            count_files(told.nameless),
            told.directory.display()
        ));
    }
    if told.left.0 > 0 {
        let message = format!(
            "{} could not be written back (first: {}); nothing of them was removed",
            count_files(told.left.0),
            told.left.1
        );
        let next = format!(
            "make room, or move away what has the name, then `forebay restore {}`",
            told.directory.display()
        );
        console::error(&message, Some(&next));
    }
    if told.lost.0 > 0 {
        let message = format!(
            "the bytes of {} are gone from their tier (first: {}): something else has removed them, \
             a purge by age or a power failure",
            count_files(told.lost.0),
            told.lost.1
        );
        let next = format!(
            "`forebay check {}` names them all: remove the links, and make the files again",
            told.directory.display()
        );
        console::error(&message, Some(&next));
    }
    if told.unsynced.0 > 0 {
        let message = format!(
            "{} could not be made safe from power failure while the run went on (first: {})",
            count_files(told.unsynced.0),
            told.unsynced.1
        );
        let next = "look at their tier's disk, and whether their bytes are right";
        console::error(&message, Some(next));
    }
    let all_here = told.left.0 == 0 && told.lost.0 == 0 && told.unsynced.0 == 0;
    report_unpublished(told) && all_here
}

/// Somebody did not wait: says what goes on, and what to do if it can't.
pub(crate) fn report_left_behind(now: &WriteBackProgress, daemon: u32) {
    let message = format!(
        "left while {}; process {daemon} goes on with it",
        write_back_progress::progress_in_words(now)
    );
    let next = "nothing is lost: if that process is killed, `forebay restore` in the managed \
                directory writes the rest back; the run file comes when all is done";
    console::error(&message, Some(next));
}

/// Says what was not published, and what to do. True if all is that was to be.
fn report_unpublished(told: &WriteBackReport) -> bool {
    if told.withheld {
        console::note(
            "nothing was published, since the command did not succeed; the next run that does \
             publishes what has changed",
        );
    }
    if told.unpublished.0 > 0 {
        let message = format!(
            "{} could not be published (first: {}); they are where they were, nothing is lost",
            count_files(told.unpublished.0),
            told.unpublished.1
        );
        let next = "make room there, or correct its rights, then run again with these rules: what \
                    is missing is published";
        console::error(&message, Some(next));
    }
    told.unpublished.0 == 0
}
