//! A profile as people write it in a site file (FORMATS.md).

use super::{Contention, Lane, Profile, Stripes};
use crate::event::{Op, OpGroup, OpKey, Pattern};
use crate::toml::{Entry, Flaw, Table};

const KEYS: [&str; 11] = [
    "source",
    "latency",
    "read",
    "write",
    "names_per_second",
    "data_per_second",
    "servers",
    "stripe_count",
    "stripe_size",
    "contention",
    "keeps_written",
];
/// What `latency` says of all operations that it does not name: `names` of those on names and
/// attributes, `data` of reads and writes.
const GROUPS: [(&str, OpGroup); 2] = [("names", OpGroup::Metadata), ("data", OpGroup::Data)];

impl Profile {
    pub(crate) fn read(table: Table<'_>) -> Result<Self, Flaw> {
        table.only(&KEYS)?;
        let mut profile = Self::free(table.need("source")?.text()?);
        if let Some(latency) = table.get("latency") {
            prices(&mut profile, latency)?;
        }
        profile.read = table.get("read").map(lane).transpose()?.unwrap_or_default();
        profile.write = table.get("write").map(lane).transpose()?.unwrap_or_default();
        profile.names_per_second = per_second(table, "names_per_second")?;
        profile.data_per_second = per_second(table, "data_per_second")?;
        profile.stripes = stripes(table)?;
        profile.contention =
            table.get("contention").map(contention).transpose()?.unwrap_or_default();
        if let Some(entry) = table.get("keeps_written") {
            profile.keeps_written = entry.truth()?;
        }
        Ok(profile)
    }
}

/// One time for everything, or a table of kinds, with `.random` for what is not sequential.
fn prices(profile: &mut Profile, entry: Entry<'_>) -> Result<(), Flaw> {
    let Ok(table) = entry.table() else {
        let price = entry.seconds()?;
        for &op in Op::ALL.iter().filter(|op| op.group() == OpGroup::Metadata) {
            profile.set_prices(op, price);
        }
        profile.set_prices(Op::Fsync, price);
        profile.set_prices(Op::Fsyncdir, price);
        return Ok(());
    };
    let random = "_random";
    let mut known: Vec<String> = GROUPS.iter().map(|(word, _)| (*word).to_owned()).collect();
    for op in Op::ALL {
        known.push(op.name().to_owned());
        if op.group() == OpGroup::Data {
            known.push(format!("{}{random}", op.name()));
        }
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    table.only(&known)?;
    // Groups first, then kinds, then patterns: the more special word wins wherever it stands.
    for (word, group) in GROUPS {
        if let Some(entry) = table.get(word) {
            let price = entry.seconds()?;
            Op::ALL
                .iter()
                .filter(|op| op.group() == group)
                .for_each(|&op| profile.set_prices(op, price));
        }
    }
    for &op in Op::ALL {
        if let Some(entry) = table.get(op.name()) {
            profile.set_prices(op, entry.seconds()?);
        }
        if let Some(entry) = table.get(&format!("{}{random}", op.name())) {
            let price = entry.seconds()?;
            let keys = (0..OpKey::COUNT).filter_map(OpKey::from_index);
            keys.filter(|key| key.op() == op && key.pattern() == Some(Pattern::Random))
                .for_each(|key| profile.set_price(key, price));
        }
    }
    Ok(())
}

fn lane(entry: Entry<'_>) -> Result<Lane, Flaw> {
    let table = entry.table()?;
    table.only(&["stream", "node", "total"])?;
    let rate = |key| table.get(key).map(Entry::rate).transpose();
    Ok(Lane { stream: rate("stream")?, node: rate("node")?, total: rate("total")? })
}

fn stripes(table: Table<'_>) -> Result<Stripes, Flaw> {
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

fn contention(entry: Entry<'_>) -> Result<Contention, Flaw> {
    let table = entry.table()?;
    table.only(&["fill", "moved", "streams"])?;
    let share = |key| table.get(key).map(|entry| entry.number(0.0, 1e3)).transpose();
    Ok(Contention {
        fill: share("fill")?.unwrap_or(0.0),
        moved: share("moved")?.unwrap_or(0.0),
        streams: share("streams")?.unwrap_or(0.0),
    })
}

fn per_second(table: Table<'_>, key: &str) -> Result<Option<f64>, Flaw> {
    table.get(key).map(|entry| entry.number(1e-3, 1e12)).transpose()
}
