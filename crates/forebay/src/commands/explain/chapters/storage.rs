//! What each storage took for an operation, the slowest first.

use forebay_model::{Micros, RunOrigin};
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::phrases::{count_with_noun, describe_amount};
use crate::commands::explain::run_story::ExplainedRun;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "storage", title: "Which storage was slow", tell: compose_chapter };

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let summary = &story.summary;
    // Records of other tools, and simulations, tell no single operations.
    if summary.origin != RunOrigin::Measured {
        return None;
    }
    let mut tiers: Vec<_> = summary.tiers.iter().filter(|tier| tier.operations > 0).collect();
    let each = |time: Micros, operations: u64| Micros(time.0 / operations.max(1));
    tiers.sort_by_key(|tier| std::cmp::Reverse(each(tier.time_us, tier.operations)));
    let name = |tier: &forebay_model::summary::TierSummary| match &tier.tier {
        Some(name) => format!("tier {}", escape_name(name.as_bytes())),
        None => escape_name(tier.path.as_bytes()),
    };
    let mut told: Vec<String> = tiers
        .iter()
        .take(story.most)
        .map(|tier| {
            format!(
                "{} ({}): {} took {} in all, {} each; {} read and {} written.",
                name(tier),
                escape_name(tier.fs_type.as_bytes()),
                count_with_noun(tier.operations, "operation"),
                tier.time_us,
                each(tier.time_us, tier.operations),
                describe_amount(&tier.read),
                describe_amount(&tier.written)
            )
        })
        .collect();
    if let [slowest, .., fastest] = tiers.as_slice()
        && each(slowest.time_us, slowest.operations) > each(fastest.time_us, fastest.operations)
    {
        told.insert(0, format!("The slowest for one operation is {}.", name(slowest)));
    }
    let rows: Vec<_> = tiers
        .iter()
        .map(|tier| {
            let mut row = json!(tier);
            row["each_us"] = json!(tier.time_us.0 as f64 / tier.operations as f64);
            row
        })
        .collect();
    ChapterText::new(told, json!({ "storages": rows }))
}
