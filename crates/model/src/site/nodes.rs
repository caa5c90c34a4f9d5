//! The machines of a site: how many, and what each has.

use crate::ByteCount;
use crate::toml::{ConfigError, TomlEntry};

pub(super) const KEYS: [&str; 7] =
    ["count", "slots", "cores", "memory", "instance", "reserved", "speed"];

/// The machines of a site, all alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Nodes {
    /// How many.
    pub count: u32,
    /// How many tasks one runs at a time, if their cores fit.
    pub slots: u32,
    /// Cores of one.
    pub cores: u32,
    /// Memory of one; `None`: enough.
    pub memory: Option<ByteCount>,
    /// What it is called in a price sheet, such as `ec2.m6id.8xlarge`.
    pub instance: Option<String>,
    /// Slots of the first one that the workflow engine itself takes.
    pub reserved: u32,
    /// How fast a core computes, against one of those on which a workload was timed.
    pub speed: f64,
}

impl Nodes {
    pub(super) fn from_entry(entry: TomlEntry<'_>) -> Result<Self, ConfigError> {
        let table = entry.as_table()?;
        table.refuse_unknown_keys(&KEYS)?;
        let cores = table.get_required("cores")?.as_integer(1, 1 << 16)?;
        let count = table.get("count").map_or(Ok(1), |entry| entry.as_integer(1, 1 << 20))?;
        let slots = table.get("slots").map_or(Ok(cores), |entry| entry.as_integer(1, 1 << 16))?;
        // With one node, one slot must be left for tasks.
        let most = if count == 1 { slots - 1 } else { slots };
        let instance = table.get("instance").map(|entry| entry.as_text().map(str::to_owned));
        Ok(Self {
            count,
            slots,
            reserved: table.get("reserved").map_or(Ok(0), |entry| entry.as_integer(0, most))?,
            speed: table.get("speed").map_or(Ok(1.0), |entry| entry.as_number(1e-3, 1e3))?,
            cores,
            memory: table.get("memory").map(TomlEntry::as_byte_count).transpose()?,
            instance: instance.transpose()?,
        })
    }
}
