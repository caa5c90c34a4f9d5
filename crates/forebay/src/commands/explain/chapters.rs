//! The chapters in which a run is told: one file each, one line here, in the order of telling.

mod cost;
mod files;
mod home;
mod machines;
mod next;
mod small_files;
mod storage;
mod tiers;
mod unseen;
mod verdict;
mod waiting;

use serde_json::Value;

use super::run_story::ExplainedRun;

/// What a chapter says.
#[derive(Debug)]
pub(super) struct ChapterText {
    pub(super) sentences: Vec<String>,
    /// The figures behind them; times (`_us`) are microseconds, amounts are bytes, shares 0 to 1.
    pub(super) facts: Value,
}

impl ChapterText {
    fn new(sentences: Vec<String>, facts: Value) -> Option<ChapterText> {
        (!sentences.is_empty()).then_some(ChapterText { sentences, facts })
    }
}

/// A chapter.
#[derive(Debug)]
pub(super) struct Chapter {
    /// Its name in JSON.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// `None`: there is nothing to tell.
    pub(super) tell: fn(&ExplainedRun) -> Option<ChapterText>,
}

/// All chapters; the first has its title from the run.
pub(super) const CHAPTERS: &[Chapter] = &[
    verdict::CHAPTER,
    waiting::CHAPTER,
    storage::CHAPTER,
    small_files::CHAPTER,
    files::CHAPTER,
    tiers::CHAPTER,
    home::CHAPTER,
    machines::CHAPTER,
    cost::CHAPTER,
    unseen::CHAPTER,
    next::CHAPTER,
];

#[cfg(test)]
mod tests;
