//! A profile as people write it in a site file (docs/reference/site.md).

mod limits;

use super::Profile;
use crate::event::{Op, OpGroup, OpKey, Pattern};
use crate::toml::{Entry, Flaw, Table};
use limits::{bursts, contention, lane, per_second, stripes};

pub(super) const KEYS: [&str; 16] = [
    "source",
    "latency",
    "read",
    "write",
    "names_per_second",
    "data_per_second",
    "data_burst_per_second",
    "data_credits",
    "at_once",
    "merges",
    "attributes_for",
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
        let (base, burst) = (table.get("data_per_second"), table.get("data_burst_per_second"));
        profile.data_burst =
            bursts(table, base, burst, "data_credits", |entry| entry.number(1e-3, 1e12))?;
        profile.at_once = table.get("at_once").map(|entry| entry.whole(1, 1 << 20)).transpose()?;
        profile.merges = table.get("merges").map(Entry::bytes).transpose()?;
        profile.attributes_for = table.get("attributes_for").map(Entry::seconds).transpose()?;
        profile.stripes = stripes(table)?;
        profile.contention =
            table.get("contention").map(contention).transpose()?.unwrap_or_default();
        if let Some(entry) = table.get("keeps_written") {
            profile.keeps_written = entry.truth()?;
        }
        Ok(profile)
    }
}

/// Is it an operation on names that a server is asked? A close is one operation, however many
/// processes close; and whether a file is a terminal, a client knows by itself.
fn asked(op: Op) -> bool {
    op.group() == OpGroup::Metadata && !matches!(op, Op::Flush | Op::Ioctl)
}

/// What follows the name of an operation that is not sequential.
const RANDOM: &str = "_random";

/// The keys of a table of latencies.
pub(super) fn latency_names() -> Vec<String> {
    let mut known: Vec<String> = GROUPS.iter().map(|(word, _)| (*word).to_owned()).collect();
    for op in Op::ALL {
        known.push(op.name().to_owned());
        if op.group() == OpGroup::Data {
            known.push(format!("{}{RANDOM}", op.name()));
        }
    }
    known
}

/// One time for everything, or a table of kinds, with `.random` for what is not sequential.
fn prices(profile: &mut Profile, entry: Entry<'_>) -> Result<(), Flaw> {
    let Ok(table) = entry.table() else {
        let price = entry.seconds()?;
        Op::ALL.iter().filter(|op| asked(**op)).for_each(|&op| profile.set_prices(op, price));
        profile.set_prices(Op::Fsync, price);
        profile.set_prices(Op::Fsyncdir, price);
        return Ok(());
    };
    let known = latency_names();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    table.only(&known)?;
    // Groups first, then kinds, then patterns: the more special word wins wherever it stands.
    for (word, group) in GROUPS {
        if let Some(entry) = table.get(word) {
            let price = entry.seconds()?;
            let ops = Op::ALL.iter().filter(|op| op.group() == group);
            ops.filter(|op| group != OpGroup::Metadata || asked(**op))
                .for_each(|&op| profile.set_prices(op, price));
        }
    }
    for &op in Op::ALL {
        if let Some(entry) = table.get(op.name()) {
            profile.set_prices(op, entry.seconds()?);
        }
        if let Some(entry) = table.get(&format!("{}{RANDOM}", op.name())) {
            let price = entry.seconds()?;
            let keys = (0..OpKey::COUNT).filter_map(OpKey::from_index);
            keys.filter(|key| key.op() == op && key.pattern() == Some(Pattern::Random))
                .for_each(|key| profile.set_price(key, price));
        }
    }
    Ok(())
}
