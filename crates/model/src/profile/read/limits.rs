//! What limits a storage: lanes, credits, stripes, contention.

use crate::profile::{Burst, Contention, Lane, Stripes};
use crate::toml::{Entry, Flaw, Table};

/// Credits, which only mean something beside the limit that they let pass.
pub(super) fn bursts(
    table: Table<'_>,
    base: Option<Entry<'_>>,
    burst: Option<Entry<'_>>,
    credits: &str,
    amount: impl Fn(Entry<'_>) -> Result<f64, Flaw>,
) -> Result<Option<Burst>, Flaw> {
    let Some(entry) = burst else {
        return match table.get(credits) {
            Some(entry) => Err(entry.flaw(format!("{credits} need a burst that they pay for"))),
            None => Ok(None),
        };
    };
    let base = base
        .ok_or_else(|| entry.flaw(format!("{} needs the limit that it goes above", entry.key)))?;
    let (per_second, least) = (amount(entry)?, amount(base)?);
    if per_second <= least {
        return Err(entry.flaw(format!("{} must be above {}", entry.key, base.key)));
    }
    let credits = amount_of(table.need(credits)?)?;
    Ok(Some(Burst { per_second, credits }))
}

/// Bytes in quotes, or a plain number.
fn amount_of(entry: Entry<'_>) -> Result<f64, Flaw> {
    if entry.text().is_ok() {
        return Ok(entry.bytes()?.get() as f64);
    }
    entry.number(0.0, 1e18)
}

pub(super) fn lane(entry: Entry<'_>) -> Result<Lane, Flaw> {
    let table = entry.table()?;
    table.only(&["stream", "node", "total", "burst", "credits"])?;
    let rate = |key| table.get(key).map(Entry::rate).transpose();
    let base = table.get("total").or_else(|| table.get("node"));
    let per_second = |entry: Entry<'_>| Ok(entry.rate()?.get());
    let burst = bursts(table, base, table.get("burst"), "credits", per_second)?;
    Ok(Lane { stream: rate("stream")?, node: rate("node")?, total: rate("total")?, burst })
}

pub(super) fn stripes(table: Table<'_>) -> Result<Stripes, Flaw> {
    let mut stripes = Stripes::default();
    if let Some(entry) = table.get("servers") {
        stripes.servers = entry.whole(1, 1 << 20)?;
        stripes.count = stripes.servers;
    }
    if let Some(entry) = table.get("stripe_count") {
        stripes.count = entry.whole(1, stripes.servers)?;
    }
    if let Some(entry) = table.get("stripe_size") {
        stripes.size = entry.bytes()?;
    }
    Ok(stripes)
}

pub(super) fn contention(entry: Entry<'_>) -> Result<Contention, Flaw> {
    let table = entry.table()?;
    table.only(&["fill", "moved", "streams"])?;
    let share = |key| table.get(key).map(|entry| entry.number(0.0, 1e3)).transpose();
    Ok(Contention {
        fill: share("fill")?.unwrap_or(0.0),
        moved: share("moved")?.unwrap_or(0.0),
        streams: share("streams")?.unwrap_or(0.0),
    })
}

pub(super) fn per_second(table: Table<'_>, key: &str) -> Result<Option<f64>, Flaw> {
    table.get(key).map(|entry| entry.number(1e-3, 1e12)).transpose()
}
