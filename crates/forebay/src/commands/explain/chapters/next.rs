//! What to do next.

use forebay_model::Origin;
use serde_json::json;

use super::{Chapter, Told};
use crate::commands::explain::run_story::Story;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "next", title: "What to do next", tell: compose_chapter };

fn compose_chapter(story: &Story) -> Option<Told> {
    let summary = &story.summary;
    let advice = summary.advice.as_ref();
    let mut told: Vec<String> =
        advice.map(|advice| escape_name(advice.sentence.as_bytes())).into_iter().collect();
    let path = &story.path;
    // What only samples has no tasks to plan for.
    if !summary.tasks.is_empty() && summary.origin != Origin::Simulated {
        told.push(format!(
            "`forebay plan {path} --site SITE.toml -o rules.toml` finds where its files should \
             live, and says what that saves."
        ));
    }
    Told::new(told, json!({ "advice": advice }))
}
