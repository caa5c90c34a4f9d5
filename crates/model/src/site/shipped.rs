//! Profiles that a site names instead of writing them down.

use crate::profile::{Described, SHIPPED};
use crate::toml::{Entry, Flaw};

/// The profile that comes with Forebay under this name; `None` where it is written down.
pub(super) fn named(entry: Entry<'_>) -> Option<Result<Described, Flaw>> {
    entry.text().ok()?;
    let known: Vec<(&str, &str)> = SHIPPED.iter().map(|(name, _)| (*name, *name)).collect();
    Some(entry.word(&known).and_then(|name| {
        Described::shipped(name).ok_or_else(|| entry.flaw(format!("{name} can't be read")))
    }))
}
