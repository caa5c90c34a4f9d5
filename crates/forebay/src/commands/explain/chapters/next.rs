//! What to do next.

use forebay_model::RunOrigin;
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::run_story::ExplainedRun;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "next", title: "What to do next", tell: compose_chapter };

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let summary = &story.summary;
    let advice = summary.advice.as_ref();
    let mut told: Vec<String> =
        advice.map(|advice| escape_name(advice.sentence.as_bytes())).into_iter().collect();
    let path = &story.path;
    // What only samples has no tasks to plan for.
    if !summary.tasks.is_empty() && summary.origin != RunOrigin::Simulated {
        told.push(format!(
            "`forebay plan {path} --site SITE.toml -o rules.toml` finds where its files should \
             live, and says what that saves."
        ));
    }
    ChapterText::new(told, json!({ "advice": advice }))
}
