//! Is it the storage? In one sentence.

use forebay_model::Exit;

use crate::commands::report::seen::Seen;
use crate::commands::report::text::shown;

/// From these shares of the tasks' time on, storage is worth a look, and what holds a run up.
const NOTICED: f64 = 0.1;
const MUCH: f64 = 0.3;

/// One sentence: is it the storage?
pub(in crate::commands::report) fn verdict(run: &Seen) -> String {
    let summary = &run.summary;
    let failed = match summary.exit {
        Some(Exit::Code(0)) | None => String::new(),
        Some(Exit::Code(code)) => format!("The command failed with exit code {code}. "),
        Some(Exit::Signal(signal)) => format!("Signal {signal} ended the command. "),
    };
    if !summary.tasks.iter().any(|task| !task.driver) {
        let what = match summary.tasks.is_empty() {
            true => "No task was seen: nothing ran, or all of it ran elsewhere.",
            false => "One command did all of the work itself: no task of it was seen.",
        };
        return failed + what;
    }
    let Some(share) = summary.waited_share else {
        return failed + "How long tasks waited for storage is not known of this run.";
    };
    let mostly = || {
        let of_class = summary.classes.first().map(|class| {
            let pattern = shown(class.pattern.as_bytes());
            format!(", most of it for {} of files such as {pattern}", class.mostly)
        });
        of_class.unwrap_or_default()
    };
    let percent = format!("tasks waited for it in {:.0} % of their time", share * 100.0);
    let sentence = match share {
        share if share >= MUCH => format!("Storage holds this run up: {percent}{}.", mostly()),
        share if share >= NOTICED => {
            format!("Storage takes its part of this run: {percent}{}.", mostly())
        }
        _ if summary.hidden => {
            format!("As far as was seen, storage does not hold this run up: {percent}.")
        }
        _ => format!("Storage does not hold this run up: {percent}."),
    };
    failed + &sentence
}
