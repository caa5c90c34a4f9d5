//! The files for which most bytes were moved: who made and read them, where they were, and where
//! they belong.

use forebay_model::ByteCount;
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::phrases::{count_with_noun, list_first_names};
use crate::commands::explain::run_story::ExplainedRun;
use crate::name_escaping::escape_name;

pub(super) const CHAPTER: Chapter = Chapter {
    name: "files",
    title: "The biggest files, and where they belong",
    tell: compose_chapter,
};

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let (mut told, mut rows) = (Vec::new(), Vec::new());
    for life in story.lives.iter().filter(|life| life.bytes_moved().get() > 0).take(story.most) {
        let path = escape_name(&life.path);
        let place = story.trees.iter().find(|tree| tree.id == life.tree);
        let place = place.map_or_else(|| "?".to_owned(), |tree| story.tree_name(tree));
        let (writers, readers) =
            (story.task_names(life.writers.clone()), story.task_names(life.readers.clone()));
        let belongs = life.best_location();
        let mut does = Vec::new();
        if !life.writers.is_empty() {
            does.push(format!("written by {}", list_first_names(&writers)));
        }
        if !life.readers.is_empty() {
            does.push(format!("read by {}", list_first_names(&readers)));
        }
        let does = if does.is_empty() { String::new() } else { format!("{}; ", does.join(", ")) };
        told.push(format!(
            "`{path}` ({}, {} read and {} written in {}, on {place}): {does}{}.",
            if life.size_known { life.size.to_string() } else { "of unknown size".to_owned() },
            match (life.read_unseen, life.read) {
                (false, read) => read.to_string(),
                (true, ByteCount::ZERO) => "an unknown amount".to_owned(),
                (true, read) => format!("at least {read}"),
            },
            life.written,
            count_with_noun(life.opens, "open"),
            life.location_reason()
        ));
        rows.push(json!({
            "path": path, "size_bytes": life.size_known.then_some(life.size),
            "read_bytes": (!life.read_unseen).then_some(life.read),
            "read_at_least_bytes": life.read, "written_bytes": life.written, "opens": life.opens, "made": life.made,
            "removed": life.gone, "written_by": writers, "read_by": readers, "on": place,
            "belongs": belongs.rule(), "why": life.location_reason(),
            "writers": life.writers.len(), "readers": life.readers.len(),
        }));
    }
    ChapterText::new(told, json!({ "files": rows }))
}
