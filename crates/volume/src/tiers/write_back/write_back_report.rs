//! What came of writing files back.

use std::path::{Path, PathBuf};

use crate::ipc::WriteBackReport;
use crate::tiers::LeftBehindFile;

/// What was written back.
#[derive(Debug, Clone, Default)]
pub struct WriteBackOutcome {
    /// Files that are plain files in place now, and their bytes.
    pub brought: (u64, u64),
    /// Files that a rule discarded, and their bytes.
    pub discarded: (u64, u64),
    /// Files that a rule keeps on their tier, and their bytes.
    pub kept: (u64, u64),
    /// Files that were published, and their bytes.
    pub published: (u64, u64),
    /// Files that could not be published; they are where they were.
    pub unpublished: Vec<LeftBehindFile>,
    /// Files whose bytes could not be made durable in the background.
    pub unsynced: Vec<LeftBehindFile>,
    /// Nothing was published, since the run did not succeed.
    pub withheld: bool,
    /// Files that could not be brought; links still lead to them.
    pub left: Vec<LeftBehindFile>,
    /// Files whose bytes are gone from their tier; links lead to nothing.
    pub lost: Vec<LeftBehindFile>,
    /// Bodies that no link leads to, as paths.
    pub nameless: Vec<PathBuf>,
}

impl WriteBackOutcome {
    /// The same in plain data, to be told to another process.
    pub fn to_report(&self, directory: &Path) -> WriteBackReport {
        WriteBackReport {
            // For people, as JSON: which has no words for names that are no text.
            directory: directory.to_string_lossy().into_owned().into(),
            brought: self.brought,
            discarded: self.discarded,
            kept: self.kept,
            left: summarize_left(&self.left),
            lost: summarize_left(&self.lost),
            published: self.published,
            unpublished: summarize_left(&self.unpublished),
            withheld: self.withheld,
            unsynced: summarize_left(&self.unsynced),
            nameless: self.nameless.len() as u64,
            spilled: (0, String::new()),
            cache: None,
        }
    }
}

/// How many, and why the first.
fn summarize_left(left: &[LeftBehindFile]) -> (u64, String) {
    let why = left.first().map(|first| format!("{}: {}", shortened_path(&first.path), first.why));
    (left.len() as u64, why.unwrap_or_default())
}

/// A path for a message: its end, when it is long.
fn shortened_path(path: &Path) -> String {
    let path = path.display().to_string();
    match path.char_indices().rev().nth(99) {
        Some((at, _)) if at > 0 => format!("\u{2026}{}", &path[at..]),
        _ => path,
    }
}
