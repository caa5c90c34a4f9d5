//! Rules that count for the files of some tasks only, and which rule holds.

use super::{FileLayout, IN_PLACE, Placement, Rules, RunEndAction};
use crate::toml::{ConfigError, TomlEntry, TomlTable};
use globset::{Candidate, Glob, GlobSet};

impl Rules {
    /// Where a file of this path lives that this task made: what the first rule says that matches
    /// both. The path is relative to the covered directory and need not be valid UTF-8. If the
    /// task is not known, a rule with a task is none.
    pub fn placement_for_path(&self, path: &[u8], task: Option<&str>) -> &Placement {
        let holds = |rule: &usize| match &self.tasks[*rule] {
            None => true,
            Some(tasks) => task.is_some_and(|task| tasks.is_match(task)),
        };
        self.matching_rules(path).find(holds).map_or(&IN_PLACE, |rule| &self.placements[rule])
    }

    /// Whether it matters for a file of this path which task made it.
    pub fn depends_on_task(&self, path: &[u8]) -> bool {
        self.by_task && self.matching_rules(path).any(|rule| self.tasks[rule].is_some())
    }

    /// Whether it matters for any file.
    pub fn has_task_rules(&self) -> bool {
        self.by_task
    }

    /// The numbers of rules, from 1, whose globs match none of these paths. What is in a whole folder
    /// nobody sees, so its rule is never among them.
    pub fn unmatched_rules<'p>(&self, paths: impl Iterator<Item = &'p [u8]>) -> Vec<usize> {
        let mut used = vec![false; self.placements.len()];
        for path in paths {
            self.matching_rules(path).for_each(|rule| used[rule] = true);
        }
        let is_seen = |number: usize| self.placements[number - 1].layout != FileLayout::Whole;
        (1..=used.len()).filter(|number| !used[number - 1] && is_seen(*number)).collect()
    }

    /// The rules whose globs match, in order.
    fn matching_rules(&self, path: &[u8]) -> impl Iterator<Item = usize> {
        // The numbers of the globs come in ascending order.
        let globs = self.globs.matches_candidate(&Candidate::from_bytes(path));
        globs.into_iter().map(|glob| self.rule_of[glob])
    }
}

/// The globs under `task`: one text, or a list of them.
pub(super) fn parse_task_globs(
    table: TomlTable<'_>,
    placement: &Placement,
) -> Result<Option<GlobSet>, ConfigError> {
    let Some(entry) = table.get("task") else { return Ok(None) };
    // These are asked for when nobody knows any more, or cares, who made a file.
    if let Some(other) = ["publish", "cache"].into_iter().find_map(|key| table.get(key)) {
        let message = format!("{} goes by path alone: it needs a rule without task", other.key);
        return Err(other.key_error(message));
    }
    if placement.after == RunEndAction::Keep {
        let message = "who made a file is known until its run ends: to keep it on its tier needs a \
                       rule without task";
        return Err(table.get_required("after")?.value_error(message));
    }
    let globs = match entry.as_list() {
        Some(items) if items.is_empty() => {
            return Err(entry.value_error("this list is empty, so the rule matches no task"));
        }
        Some(items) => items.into_iter().map(parse_task_glob).collect::<Result<Vec<_>, _>>()?,
        None => vec![parse_task_glob(entry)?],
    };
    GlobSet::new(globs).map(Some).map_err(|error| entry.value_error(error.to_string()))
}

fn parse_task_glob(entry: TomlEntry<'_>) -> Result<Glob, ConfigError> {
    let glob = entry
        .as_text()
        .map_err(|_| entry.wrong_type_error("a glob in quotes, or a list of globs"))?;
    if glob.is_empty() {
        return Err(entry.value_error("an empty glob matches no task"));
    }
    Glob::new(glob)
        .map_err(|error| entry.value_error(format!("{glob:?} is no glob: {}", error.kind())))
}
