//! What rules sent to which tier, and how much lay there.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::phrases::count_with_noun;
use crate::commands::explain::run_story::ExplainedRun;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "tiers", title: "Tiers", tell: compose_chapter };

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let mut lay: BTreeMap<u16, (u64, u64, u64)> = BTreeMap::new();
    for life in &story.lives {
        let (files, bytes, gone) = lay.entry(life.tree.0).or_default();
        (*files, *bytes) = (*files + 1, *bytes + life.size.get());
        *gone += u64::from(life.gone);
    }
    let (mut told, mut rows) = (Vec::new(), Vec::new());
    for tree in story.trees.iter().filter(|tree| tree.tier.is_some()) {
        let (files, bytes, gone) = lay.get(&tree.id.0).copied().unwrap_or_default();
        let bytes = forebay_model::ByteCount(bytes);
        let name = story.tree_name(tree);
        told.push(match files {
            0 => format!("On {name} no file lived."),
            _ => format!(
                "On {name} ({}) lived {} of {bytes} together, {gone} of them removed by the run.",
                escape_name(tree.fs_type.as_bytes()),
                count_with_noun(files, "file")
            ),
        });
        rows.push(json!({
            "tier": tree.tier, "fs_type": tree.fs_type, "files": files, "bytes": bytes,
            "removed": gone,
        }));
    }
    if told.is_empty() && !story.trees.is_empty() {
        told.push("All files lived in place: no rules sent any to a tier.".to_owned());
    }
    ChapterText::new(told, json!({ "tiers": rows }))
}
