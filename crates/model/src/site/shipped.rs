//! Profiles that a site names instead of writing them down.

use super::FileLoader;
use crate::profile::{SHIPPED, TierTemplate};
use crate::toml::{ConfigError, TomlEntry};

/// The profile in this file, or that comes with Forebay under this name; `None` where it is written
/// down.
pub(super) fn load_named_profile(
    entry: TomlEntry<'_>,
    file: FileLoader<'_>,
) -> Option<Result<TierTemplate, ConfigError>> {
    let name = entry.as_text().ok()?;
    if name.ends_with(".toml") {
        let text =
            file(name).map_err(|why| entry.value_error(format!("{name} can't be read: {why}")));
        let read = |text: String| {
            TierTemplate::parse(&text, name)
                .map_err(|flaw| entry.value_error(format!("in it, {flaw}")))
        };
        return Some(text.and_then(read));
    }
    let known: Vec<(&str, &str)> = SHIPPED.iter().map(|(name, _)| (*name, *name)).collect();
    Some(entry.as_one_of(&known).and_then(|name| {
        TierTemplate::find_builtin(name)
            .ok_or_else(|| entry.value_error(format!("{name} can't be read")))
    }))
}
