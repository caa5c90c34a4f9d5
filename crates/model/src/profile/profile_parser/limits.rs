//! What limits a storage: lanes, credits, stripes, contention.

use crate::profile::{BandwidthLimits, BurstCredits, Contention, StripeLayout};
use crate::toml::{ConfigError, TomlEntry, TomlTable};

/// Credits, which only mean something beside the limit that they let pass.
pub(super) fn parse_burst(
    table: TomlTable<'_>,
    base: Option<TomlEntry<'_>>,
    burst: Option<TomlEntry<'_>>,
    credits: &str,
    amount: impl Fn(TomlEntry<'_>) -> Result<f64, ConfigError>,
) -> Result<Option<BurstCredits>, ConfigError> {
    let Some(entry) = burst else {
        return match table.get(credits) {
            Some(entry) => {
                Err(entry.value_error(format!("{credits} need a burst that they pay for")))
            }
            None => Ok(None),
        };
    };
    let base = base.ok_or_else(|| {
        entry.value_error(format!("{} needs the limit that it goes above", entry.key))
    })?;
    let (per_second, least) = (amount(entry)?, amount(base)?);
    if per_second <= least {
        return Err(entry.value_error(format!("{} must be above {}", entry.key, base.key)));
    }
    let credits = parse_bytes_or_number(table.get_required(credits)?)?;
    Ok(Some(BurstCredits { per_second, credits }))
}

/// Bytes in quotes, or a plain number.
fn parse_bytes_or_number(entry: TomlEntry<'_>) -> Result<f64, ConfigError> {
    if entry.as_text().is_ok() {
        return Ok(entry.as_byte_count()?.get() as f64);
    }
    entry.as_number(0.0, 1e18)
}

pub(super) fn parse_lane(entry: TomlEntry<'_>) -> Result<BandwidthLimits, ConfigError> {
    let table = entry.as_table()?;
    table.refuse_unknown_keys(&["stream", "node", "total", "burst", "credits"])?;
    let rate = |key| table.get(key).map(TomlEntry::as_rate).transpose();
    let base = table.get("total").or_else(|| table.get("node"));
    let per_second = |entry: TomlEntry<'_>| Ok(entry.as_rate()?.get());
    let burst = parse_burst(table, base, table.get("burst"), "credits", per_second)?;
    Ok(BandwidthLimits {
        stream: rate("stream")?,
        node: rate("node")?,
        total: rate("total")?,
        burst,
    })
}

pub(super) fn parse_stripes(table: TomlTable<'_>) -> Result<StripeLayout, ConfigError> {
    let mut stripes = StripeLayout::default();
    if let Some(entry) = table.get("servers") {
        stripes.servers = entry.as_integer(1, 1 << 20)?;
        stripes.count = stripes.servers;
    }
    if let Some(entry) = table.get("stripe_count") {
        stripes.count = entry.as_integer(1, stripes.servers)?;
    }
    if let Some(entry) = table.get("stripe_size") {
        stripes.size = entry.as_byte_count()?;
    }
    Ok(stripes)
}

pub(super) fn parse_contention(entry: TomlEntry<'_>) -> Result<Contention, ConfigError> {
    let table = entry.as_table()?;
    table.refuse_unknown_keys(&["fill", "moved", "streams"])?;
    let share = |key| table.get(key).map(|entry| entry.as_number(0.0, 1e3)).transpose();
    Ok(Contention {
        fill: share("fill")?.unwrap_or(0.0),
        moved: share("moved")?.unwrap_or(0.0),
        streams: share("streams")?.unwrap_or(0.0),
    })
}

pub(super) fn parse_rate_limit(
    table: TomlTable<'_>,
    key: &str,
) -> Result<Option<f64>, ConfigError> {
    table.get(key).map(|entry| entry.as_number(1e-3, 1e12)).transpose()
}
