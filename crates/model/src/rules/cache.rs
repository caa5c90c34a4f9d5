//! What rules say of files in place that are read from copies on a faster tier: where the copies
//! lie, and when they are made. A rule that says nothing of it is the way past the cache.

use super::{FileLocation, Rules, parse_choice};
use crate::site::{IN_PLACE, Site, TierId};
use crate::toml::{ConfigError, TomlTable};
use std::collections::BTreeSet;

pub(super) const AHEADS: [(&str, PrefetchMode); 3] = [
    ("never", PrefetchMode::Never),
    ("on-open", PrefetchMode::OnOpen),
    ("at-start", PrefetchMode::AtStart),
];

/// When a file is copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefetchMode {
    /// Never ahead of its use: when those who read it first have closed it, for those who come.
    Never,
    /// While the first who opens it reads it from home.
    #[default]
    OnOpen,
    /// Before the command starts.
    AtStart,
}

/// Where copies of a file in place lie, and when they are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheRule {
    /// The tier of the copies.
    pub tier: TierId,
    /// When they are made.
    pub ahead: PrefetchMode,
}

impl Rules {
    /// The tiers and pools where some rule has copies.
    pub fn cache_tiers(&self) -> BTreeSet<&TierId> {
        let caches = self.placements.iter().filter_map(|placement| placement.cache.as_ref());
        caches.map(|cache| &cache.tier).collect()
    }

    /// Whether some rule has copies made at that time.
    pub fn has_cache_rule(&self, ahead: PrefetchMode) -> bool {
        let mut caches = self.placements.iter().filter_map(|placement| placement.cache.as_ref());
        caches.any(|cache| cache.ahead == ahead)
    }
}

pub(super) fn parse_cache(
    table: TomlTable<'_>,
    home: &FileLocation,
    site: &Site,
) -> Result<Option<CacheRule>, ConfigError> {
    let ahead = parse_choice(table, "ahead", &AHEADS)?;
    let Some(entry) = table.get("cache") else {
        return match table.get("ahead") {
            Some(entry) => {
                Err(entry.key_error("ahead says when files are copied: it needs a cache"))
            }
            None => Ok(None),
        };
    };
    let name = entry.as_text()?;
    if name == IN_PLACE {
        return Err(entry.value_error("a cache is on a tier; without one, files are read in place"));
    }
    let tier = TierId(name.to_owned());
    if site.tier(&tier).is_none() {
        let known: Vec<&str> = site.tiers().map(|tier| tier.id.as_str()).collect();
        return Err(entry.unknown_name_error("tier", name, &known));
    }
    if let FileLocation::Tier(home) = home {
        let message = format!("cache is for files in place, but home is {:?}", home.as_str());
        return Err(entry.key_error(message));
    }
    Ok(Some(CacheRule { tier, ahead }))
}
