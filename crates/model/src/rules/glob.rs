//! Globs of rules: which patterns are taken, and what they mean.

use crate::toml::{ConfigError, TomlEntry};
use globset::{Glob, GlobBuilder};

/// The globs under `match`: one text, or a list of them.
pub(super) fn parse_globs(entry: TomlEntry<'_>) -> Result<Vec<Glob>, ConfigError> {
    match entry.as_list() {
        Some(items) if items.is_empty() => {
            Err(entry.value_error("this list is empty, so the rule matches nothing"))
        }
        Some(items) => items.into_iter().map(parse_glob).collect(),
        None => Ok(vec![parse_glob(entry)?]),
    }
}

fn parse_glob(entry: TomlEntry<'_>) -> Result<Glob, ConfigError> {
    let glob = entry
        .as_text()
        .map_err(|_| entry.wrong_type_error("a glob in quotes, or a list of globs"))?;
    if let Some(complaint) = never_matches(glob) {
        return Err(entry.value_error(complaint));
    }
    // As in .gitignore, a name without a directory is meant wherever it is.
    let anywhere = !glob.contains('/') && glob != "**";
    let whole = if anywhere { format!("**/{glob}") } else { glob.to_owned() };
    GlobBuilder::new(&whole)
        .literal_separator(true)
        .backslash_escape(true)
        // `*.bam{,.bai}` is an alignment and its index, as in a shell.
        .empty_alternates(true)
        .build()
        .map_err(|error| entry.value_error(format!("{glob:?} is no glob: {}", error.kind())))
}

/// Paths are relative, and have no empty, `.` or `..` parts: a glob with these is a mistake.
fn never_matches(glob: &str) -> Option<String> {
    let mut parts = glob.split('/');
    if glob.is_empty() {
        Some("an empty glob matches nothing".to_owned())
    } else if glob.starts_with('/') {
        Some("a glob is relative to the managed directory: it can't begin with /".to_owned())
    } else if parts.clone().any(|part| part == "..") {
        Some("a glob can't leave the managed directory by \"..\"".to_owned())
    } else if let Some(directory) = glob.strip_suffix('/') {
        Some(format!("a glob matches files: for all files below, write \"{directory}/**\""))
    } else if parts.any(|part| part.is_empty() || part == ".") {
        Some("no path has an empty or \".\" part, so this glob matches nothing".to_owned())
    } else {
        None
    }
}
