//! Is it the storage? In one sentence.

use forebay_model::CommandExit;

use crate::commands::report::indexed_run::IndexedRun;
use crate::commands::report::page_text::escape_name;

/// One sentence: is it the storage?
pub(in crate::commands::report) fn verdict_sentence(run: &IndexedRun) -> String {
    let summary = &run.summary;
    let failed = match summary.exit {
        Some(CommandExit::Code(0)) | None => String::new(),
        Some(CommandExit::Code(code)) => format!("The command failed with exit code {code}. "),
        Some(CommandExit::Signal(signal)) => format!("Signal {signal} ended the command. "),
    };
    if !summary.tasks.iter().any(|task| !task.driver) {
        let what = match summary.tasks.is_empty() {
            true => "No task was seen: nothing ran, or all of it ran elsewhere.",
            false => "One command did all of the work itself: no task of it was seen.",
        };
        return failed + what;
    }
    let verdict = summary.verdict.as_ref();
    failed + &verdict.map_or_else(String::new, |verdict| escape_name(verdict.sentence.as_bytes()))
}
