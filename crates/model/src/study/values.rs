//! Values as a study file has them: words that must be there or may, names of files beside it, lists.

use crate::toml::{Entry, Flaw, Table};

pub(super) fn need(table: Table<'_>, key: &str) -> Result<String, Flaw> {
    Ok(table.need(key)?.text()?.to_owned())
}

pub(super) fn words(table: Table<'_>, key: &str) -> Result<Option<String>, Flaw> {
    table.get(key).map(|entry| entry.text().map(str::to_owned)).transpose()
}

/// A name of a file in the study's folder, and not elsewhere: a study carries all it needs.
pub(super) fn file(table: Table<'_>, key: &str) -> Result<Option<String>, Flaw> {
    let Some(entry) = table.get(key) else { return Ok(None) };
    let name = entry.text()?;
    if name.is_empty() || name.contains('/') || name == ".." {
        return Err(entry.flaw(format!("{key} must be a file in the study's own folder")));
    }
    Ok(Some(name.to_owned()))
}

pub(super) fn list<'d, T>(
    table: Table<'d>,
    key: &str,
    read: impl Fn(Entry<'d>) -> Result<T, Flaw>,
) -> Result<Vec<T>, Flaw> {
    let Some(entry) = table.get(key) else { return Ok(Vec::new()) };
    let items = entry.items().ok_or_else(|| entry.not("a list"))?;
    items.into_iter().map(read).collect()
}
