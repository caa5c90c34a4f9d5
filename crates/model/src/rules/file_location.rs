//! Where files of a rule live.

use super::FileLocation;
use crate::site::{IN_PLACE, Site, TierId};
use crate::toml::{ConfigError, TomlEntry};

/// A tier or pool of the site, or in place.
pub(super) fn parse_home(entry: TomlEntry<'_>, site: &Site) -> Result<FileLocation, ConfigError> {
    let name = entry.as_text()?;
    let id = TierId(name.to_owned());
    if name == IN_PLACE {
        Ok(FileLocation::Here)
    } else if site.tier(&id).is_some() {
        Ok(FileLocation::Tier(id))
    } else {
        let known: Vec<&str> =
            site.tiers().map(|tier| tier.id.as_str()).chain([IN_PLACE]).collect();
        Err(entry.unknown_name_error("tier", name, &known))
    }
}
