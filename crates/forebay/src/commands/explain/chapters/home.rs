//! What came home from tiers: while the run went on, and after its last task.

use forebay_model::Seconds;
use forebay_model::run::note_key::{self, FileNotes};
use serde_json::json;

use super::{Chapter, ChapterText};
use crate::commands::explain::phrases::count_with_noun;
use crate::commands::explain::run_story::ExplainedRun;

pub(super) const CHAPTER: Chapter = Chapter {
    name: "home",
    title: "What was written back after the last task",
    tell: compose_chapter,
};

/// What became of files, as the header counts it (docs/formats/run.md), and in words.
const BECAME: [(&str, FileNotes, &str); 4] = [
    ("drained", note_key::DRAINED, "written back while the run went on"),
    ("discarded", note_key::DISCARDED, "went, as their rule says"),
    ("kept", note_key::KEPT, "stay on their tier, as their rule says"),
    ("published", note_key::PUBLISHED, "were copied to where results go"),
];

fn compose_chapter(story: &ExplainedRun) -> Option<ChapterText> {
    let header = &story.header;
    let took = header.note(&note_key::WRITTEN_BACK_FOR)?;
    let (mut told, mut became) = (Vec::new(), serde_json::Map::new());
    let (brought, drained) = (
        header.file_notes(&note_key::WRITTEN_BACK),
        header.file_notes(&note_key::DRAINED).unwrap_or_default(),
    );
    match brought {
        None if took == Seconds::ZERO => {
            told.push("Nothing is written back after the last task.".to_owned());
        }
        None => told.push(format!("After the last task Forebay writes files back for {took}.")),
        Some((files, bytes)) => {
            let (files, bytes) = (files.saturating_sub(drained.0), bytes - drained.1);
            became.insert("after_last_task".into(), json!({"files": files, "bytes": bytes}));
            told.push(match files {
                0 => {
                    format!("After the last task nothing had to be written back ({took} to look).")
                }
                _ => format!(
                    "After the last task Forebay wrote back {} ({bytes}), which took {took}.",
                    count_with_noun(files, "file")
                ),
            });
        }
    }
    for (what, keys, words) in BECAME {
        let Some((files, bytes)) = header.file_notes(&keys) else { continue };
        became.insert(what.into(), json!({"files": files, "bytes": bytes}));
        if files > 0 {
            told.push(format!("{} ({bytes}) {words}.", count_with_noun(files, "file")));
        }
    }
    for (key, words) in [
        (
            note_key::LEFT_FILES,
            "could not be written back and are on their tier still: `forebay restore` writes them",
        ),
        (
            note_key::SPILLED_FILES,
            "stayed in place against their rule, since their tier was full or refused",
        ),
    ] {
        let Some(files) = header.note(&key) else { continue };
        became.insert(key.name().into(), json!(files));
        if files > 0 {
            told.push(format!("{} {words}.", count_with_noun(files, "file")));
        }
    }
    if let Some(folders) = header.note(&note_key::WHOLE_FOLDERS) {
        became.insert(note_key::WHOLE_FOLDERS.name().into(), json!(folders));
        let (were, them) = if folders == 1 { ("was", "it") } else { ("were", "them") };
        told.push(format!(
            "{} {were} on a tier as a whole: what happened in {them} was not recorded.",
            count_with_noun(folders, "folder")
        ));
    }
    became.insert("homecoming_s".into(), json!(took));
    ChapterText::new(told, became.into())
}
