//! A storm of small files: how large the files were that the run made, and what their names took.

use std::collections::{BTreeMap, HashSet};

use forebay_model::run::OpKind;
use forebay_model::{ClassId, Micros, OpGroup};
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::file_lifetimes::{SIZES, count_by_size};
use crate::commands::explain::phrases::count_with_noun;
use crate::commands::explain::run_story::ExplainedRun;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "small_files", title: "Small files", tell: compose_chapter };

/// Fewer are no storm.
const MANY: u64 = 500;
/// A file that costs more in names than in bytes nearly everywhere.
const SMALL: u64 = 64 << 10;

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let sizes = count_by_size(&story.lives);
    let mut classes: BTreeMap<ClassId, (u64, u64)> = BTreeMap::new();
    for life in story.lives.iter().filter(|life| life.made && life.size_known) {
        let size = life.size.get();
        let (files, bytes) = classes.entry(life.class).or_default();
        (*files, *bytes) = (*files + 1, *bytes + size);
    }
    let made: u64 = sizes.iter().map(|(files, _)| files).sum();
    let small = sizes[0].0 + sizes[1].0;
    classes.retain(|_, (files, bytes)| *bytes / *files < SMALL);
    let small_classes: HashSet<ClassId> = classes.into_keys().collect();
    let of_names = |kind: &OpKind| kind.op().is_some_and(|op| op.group() == OpGroup::Metadata);
    let rows =
        story.ops.iter().filter(|row| small_classes.contains(&row.class) && of_names(&row.kind));
    let names: Micros = rows.map(|row| row.time).sum();
    let mut told = Vec::new();
    if small >= MANY {
        let made = count_with_noun(made, "file");
        told.push(match story.ops.is_empty() {
            true => format!(
                "Of {made} that the run made, {small} are of at most 64 KiB; what their names \
                 took was not seen."
            ),
            false => format!(
                "Of {made} that the run made, {small} are of at most 64 KiB; their names alone \
                 took {names} (creating, looking up, renaming, removing)."
            ),
        });
        let told_sizes = sizes.iter().zip(SIZES).filter(|((files, _), _)| *files > 0);
        let parts: Vec<String> =
            told_sizes.map(|((files, _), (_, size))| format!("{files} {size}")).collect();
        told.push(format!("By size: {}.", parts.join(", ")));
        if names > Micros::ZERO {
            told.push(
                "A tier of the node, or `layout = \"packed\"`, takes the names off the storage."
                    .to_owned(),
            );
        }
    } else if made > 0 {
        told.push(format!(
            "No storm: the run made {}, {small} of at most 64 KiB.",
            count_with_noun(made, "file")
        ));
    }
    let histogram: Vec<_> = sizes
        .iter()
        .zip(SIZES)
        .map(|((files, bytes), (_, size))| json!({"size": size, "files": files, "bytes": bytes}))
        .collect();
    let names = (!story.ops.is_empty()).then_some(names);
    ChapterText::new(
        told,
        json!({"made": made, "small": small, "names_us": names, "sizes": histogram}),
    )
}
