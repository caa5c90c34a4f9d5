//! What rules say of files that are given to others when the run ends: as plain files in a tier's
//! own directory, under the paths that they have in the covered one.

use super::{FileLocation, Rules};
use crate::site::{IN_PLACE, Site, Tier, TierId};
use crate::toml::{ConfigError, TomlTable};
use std::collections::BTreeSet;

impl Rules {
    /// The tiers to which some rule publishes.
    pub fn publish_tiers(&self) -> BTreeSet<&TierId> {
        self.placements.iter().filter_map(|placement| placement.publish.as_ref()).collect()
    }
}

pub(super) fn parse_publish(
    table: TomlTable<'_>,
    home: &FileLocation,
    site: &Site,
) -> Result<Option<TierId>, ConfigError> {
    let Some(entry) = table.get("publish") else { return Ok(None) };
    let name = entry.as_text()?;
    if name == IN_PLACE {
        return Err(entry.value_error("files are published to a tier; without the key, to none"));
    }
    let whole = |tier: &&Tier| tier.pool_of.is_none();
    let Some(tier) = site.tier(&TierId(name.to_owned())) else {
        let known: Vec<&str> = site.tiers().filter(whole).map(|tier| tier.id.as_str()).collect();
        return Err(entry.unknown_name_error("tier", name, &known));
    };
    if let Some(whole) = &tier.pool_of {
        let message =
            format!("{name} is a pool, and published files count in none: write {:?}", whole.0);
        return Err(entry.value_error(message));
    }
    // Pools of a tier have its directory, and two tiers may have one.
    if let FileLocation::Tier(id) = home
        && site.tier(id).is_some_and(|home| {
            home.whole_tier() == &tier.id
                || home.path.is_some() && home.path == tier.path
                || home.bucket.is_some() && home.bucket == tier.bucket
        })
    {
        let message = format!("publish is for another tier: the files live on {name} already");
        return Err(entry.value_error(message));
    }
    Ok(Some(tier.id.clone()))
}
