//! Which tasks waited, and for what kind of operation.

use std::collections::BTreeMap;

use forebay_model::{Micros, Op, OpGroup};
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::phrases::{count_with_noun, describe_amount, format_percent};
use crate::commands::explain::run_story::ExplainedRun;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter =
    Chapter { name: "waiting", title: "Where the time went", tell: compose_chapter };

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let summary = &story.summary;
    let mut told = Vec::new();
    let all: Micros = story.ops.iter().map(|row| row.time).sum();
    let groups = time_by_group(story);
    let share = |part: Micros| part.0 as f64 / all.0.max(1) as f64;
    if all > Micros::ZERO {
        let parts: Vec<String> = groups
            .iter()
            .map(|(group, (time, number))| {
                format!(
                    "{} in {group} ({})",
                    format_percent(share(*time)),
                    count_with_noun(*number, "operation")
                )
            })
            .collect();
        told.push(format!("Of {all} in operations on storage, {}.", parts.join(", ")));
    }
    let tasks = summary.tasks.iter().filter(|task| !task.driver);
    for task in tasks.clone().take(story.most) {
        let wall = task.wall_us.map(|wall| format!(" of {wall}")).unwrap_or_default();
        let waited = task.waited_us.map_or_else(|| "an unknown time".to_owned(), |w| w.to_string());
        told.push(format!(
            "{} ({}) waited {waited}{wall}, read {} and wrote {}.",
            escape_name(task.name.as_bytes()),
            count_with_noun(task.count, "time"),
            describe_amount(&task.read),
            describe_amount(&task.written)
        ));
    }
    let more = tasks.clone().count().saturating_sub(story.most);
    if more > 0 {
        told.push(format!(
            "{} did less: --all tells of them.",
            count_with_noun(more as u64, "other kind")
        ));
    }
    for class in summary.classes.iter().filter(|class| class.time_us > Micros::ZERO).take(2) {
        told.push(format!(
            "Files like `{}` ({}) took {}, mostly in {}.",
            escape_name(class.pattern.as_bytes()),
            count_with_noun(class.files, "file"),
            class.time_us,
            class.mostly.replace('_', " ")
        ));
    }
    let groups: BTreeMap<&str, _> = groups
        .iter()
        .map(|(group, (time, number))| (*group, json!({"time_us": time, "count": number})))
        .collect();
    let tasks: Vec<_> = tasks.collect();
    let facts = json!({
        "operations_us": all, "groups": groups, "tasks": tasks, "classes": summary.classes,
        "costliest": summary.costliest,
    });
    ChapterText::new(told, facts)
}

/// Time and number of operations: on names and attributes, on bytes, to make them durable.
fn time_by_group(story: &ExplainedRun) -> BTreeMap<&'static str, (Micros, u64)> {
    let mut groups: BTreeMap<&str, (Micros, u64)> = BTreeMap::new();
    for row in &story.ops {
        let group = match row.kind.op().map(Op::group) {
            Some(OpGroup::Metadata) => "names and attributes",
            Some(OpGroup::Data) => "reads and writes",
            Some(OpGroup::Sync) => "making bytes durable",
            None => "operations that this Forebay does not know",
        };
        let (time, number) = groups.entry(group).or_default();
        *time += row.time;
        *number += row.count;
    }
    groups
}
