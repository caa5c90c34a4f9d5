//! What it cost in dollars: the machine that is named, or what a simulation counted.

use forebay_model::run::note_key::COST_USD;
use forebay_model::{Seconds, Usd};
use forebay_plan::cost::cost_of_recorded_run;
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::run_story::ExplainedRun;

pub(super) const CHAPTER: Chapter = Chapter { name: "cost", title: "Cost", tell: compose_chapter };

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    if let Some(usd) = story.header.note(&COST_USD) {
        let told = format!("By the price sheet it would cost {}, machines and storage.", Usd(usd));
        return ChapterText::new(vec![told], json!({ "usd": usd }));
    }
    let (instance, prices) = story.paid.as_ref()?;
    let lasted = Seconds(story.summary.wall_us.as_secs());
    let cost = match cost_of_recorded_run(prices, lasted, Some(instance), None) {
        Ok(cost) => cost,
        Err(why) => {
            let told = format!("What it cost is not known: {why}.");
            return ChapterText::new(vec![told], json!({ "usd": null, "why": why.to_string() }));
        }
    };
    let told = format!(
        "One {instance} for as long as it took: {} (price sheet {} of {}; storage is not in it: \
         `forebay plan` counts it).",
        cost.total, cost.sheet, cost.compiled
    );
    ChapterText::new(vec![told], json!({ "usd": cost.total, "instance": instance, "cost": cost }))
}
