//! How long it took, how it ended, and whether storage was what it waited for.

use forebay_model::{CommandExit, RunOrigin};
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::phrases::count_with_noun;
use crate::commands::explain::run_story::ExplainedRun;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "verdict", title: "Verdict", tell: compose_chapter };

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let summary = &story.summary;
    let words: Vec<&[u8]> = summary.command.iter().map(|word| word.as_bytes()).collect();
    let command = escape_name(&words.join(&b' '));
    let (verb, end) = match summary.origin {
        RunOrigin::Simulated => ("It would take", String::new()),
        _ => ("It took", describe_exit(summary.exit)),
    };
    let of = match (&*command, &story.header.host) {
        ("", _) => String::new(),
        (_, Some(host)) => format!(" to run `{command}` on {}", escape_name(host.as_bytes())),
        _ => format!(" to run `{command}`"),
    };
    let mut told = vec![format!("{verb} {}{of}{end}.", summary.wall_us)];
    if !summary.complete {
        told.push(
            "The run is not complete: what happened after its last record is missing.".to_owned(),
        );
    }
    let tasks: u64 = summary.tasks.iter().filter(|task| !task.driver).map(|task| task.count).sum();
    if let Some(verdict) = &summary.verdict {
        told.push(escape_name(verdict.sentence.as_bytes()));
    }
    if tasks > 0 && summary.waited_share.is_none() {
        told.push(format!("Operations on storage took {} in all.", summary.waited_us));
    }
    if summary.hidden {
        told.push(
            "Reads and writes went past Forebay (kernel passthrough): waiting for them is not in \
             these figures. `--trace every-read` sees it."
                .to_owned(),
        );
    }
    let failed: u64 = summary.tasks.iter().map(|task| task.failed).sum();
    if failed > 0 {
        told.push(format!("{} failed.", count_with_noun(failed, "task")));
    }
    let facts = json!({
        "origin": summary.origin, "command": summary.command, "host": story.header.host,
        "wall_us": summary.wall_us, "exit": summary.exit, "complete": summary.complete,
        "tasks": tasks, "failed": failed, "waited_us": summary.waited_us,
        "waited_share": summary.waited_share, "time": summary.time,
        "verdict": summary.verdict, "hidden": summary.hidden,
        "pressure_share": summary.pressure_share,
    });
    ChapterText::new(told, facts)
}

fn describe_exit(exit: Option<CommandExit>) -> String {
    match exit {
        Some(CommandExit::Code(0)) => ", with success".to_owned(),
        Some(CommandExit::Code(code)) => format!(", and it ended with status {code}"),
        Some(CommandExit::Signal(signal)) => format!(", until signal {signal} ended it"),
        None => ", and its end was not seen".to_owned(),
    }
}
