//! What Forebay did not see: files outside the covered directories, work that went elsewhere.

use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::phrases::{count_with_noun, format_percent};
use crate::commands::explain::run_story::ExplainedRun;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "unseen", title: "What was not seen", tell: compose_chapter };

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let summary = &story.summary;
    let mut told = Vec::new();
    let outside = &summary.outside;
    if let (Some(share), Some(at)) = (outside.share, &outside.at) {
        let places: Vec<String> =
            outside.directories.iter().take(3).map(|d| escape_name(d.path.as_bytes())).collect();
        told.push(format!(
            "{} of the bytes (at least {}) moved outside, in {}; `--at {}` covers that, too.",
            format_percent(share),
            outside.bytes,
            places.join(", "),
            escape_name(at.as_bytes())
        ));
    }
    for elsewhere in &summary.not_seen {
        told.push(format!(
            "What {} started elsewhere ({}) was not seen.",
            escape_name(elsewhere.program.as_bytes()),
            count_with_noun(elsewhere.count, "time")
        ));
    }
    if let (Some(cpu), Some(lost)) = (summary.cpu_us, summary.cpu_unattributed_us)
        && lost.0 > cpu.0 / 20
    {
        told.push(format!("{lost} of {cpu} of CPU time belongs to no task that was seen."));
    }
    ChapterText::new(told, json!({ "outside": outside, "not_seen": summary.not_seen }))
}
