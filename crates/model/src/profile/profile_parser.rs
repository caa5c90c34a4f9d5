//! A profile as people write it in a site file (docs/reference/site.md).

mod limits;

use super::StorageProfile;
use crate::event::{AccessPattern, Op, OpGroup, OpKey};
use crate::toml::{ConfigError, TomlEntry, TomlTable};
use limits::{parse_burst, parse_contention, parse_lane, parse_rate_limit, parse_stripes};

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

impl StorageProfile {
    pub(crate) fn from_table(table: TomlTable<'_>) -> Result<Self, ConfigError> {
        table.refuse_unknown_keys(&KEYS)?;
        let mut profile = Self::zero_cost(table.get_required("source")?.as_text()?);
        if let Some(latency) = table.get("latency") {
            parse_latencies(&mut profile, latency)?;
        }
        profile.read = table.get("read").map(parse_lane).transpose()?.unwrap_or_default();
        profile.write = table.get("write").map(parse_lane).transpose()?.unwrap_or_default();
        profile.names_per_second = parse_rate_limit(table, "names_per_second")?;
        profile.data_per_second = parse_rate_limit(table, "data_per_second")?;
        let (base, burst) = (table.get("data_per_second"), table.get("data_burst_per_second"));
        profile.data_burst =
            parse_burst(table, base, burst, "data_credits", |entry| entry.as_number(1e-3, 1e12))?;
        profile.at_once =
            table.get("at_once").map(|entry| entry.as_integer(1, 1 << 20)).transpose()?;
        profile.merges = table.get("merges").map(TomlEntry::as_byte_count).transpose()?;
        profile.attributes_for =
            table.get("attributes_for").map(TomlEntry::as_seconds).transpose()?;
        profile.stripes = parse_stripes(table)?;
        profile.contention =
            table.get("contention").map(parse_contention).transpose()?.unwrap_or_default();
        if let Some(entry) = table.get("keeps_written") {
            profile.keeps_written = entry.as_bool()?;
        }
        Ok(profile)
    }
}

/// Is it an operation on names that a server is asked? A close is one operation, however many
/// processes close; and whether a file is a terminal, a client knows by itself.
fn is_asked_of_server(op: Op) -> bool {
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
fn parse_latencies(profile: &mut StorageProfile, entry: TomlEntry<'_>) -> Result<(), ConfigError> {
    let Ok(table) = entry.as_table() else {
        let price = entry.as_seconds()?;
        Op::ALL
            .iter()
            .filter(|op| is_asked_of_server(**op))
            .for_each(|&op| profile.set_latencies(op, price));
        profile.set_latencies(Op::Fsync, price);
        profile.set_latencies(Op::Fsyncdir, price);
        return Ok(());
    };
    let known = latency_names();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    table.refuse_unknown_keys(&known)?;
    // Groups first, then kinds, then patterns: the more special word wins wherever it stands.
    for (word, group) in GROUPS {
        if let Some(entry) = table.get(word) {
            let price = entry.as_seconds()?;
            let ops = Op::ALL.iter().filter(|op| op.group() == group);
            ops.filter(|op| group != OpGroup::Metadata || is_asked_of_server(**op))
                .for_each(|&op| profile.set_latencies(op, price));
        }
    }
    for &op in Op::ALL {
        if let Some(entry) = table.get(op.name()) {
            profile.set_latencies(op, entry.as_seconds()?);
        }
        if let Some(entry) = table.get(&format!("{}{RANDOM}", op.name())) {
            let price = entry.as_seconds()?;
            let keys = (0..OpKey::COUNT).filter_map(OpKey::from_index);
            keys.filter(|key| key.op() == op && key.pattern() == Some(AccessPattern::Random))
                .for_each(|key| profile.set_latency(key, price));
        }
    }
    Ok(())
}
