//! The machines of a site: how many, and what each has.

use crate::ByteCount;
use crate::toml::{Entry, Flaw};

/// The machines of a site, all alike.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

impl Nodes {
    pub(super) fn read(entry: Entry<'_>) -> Result<Self, Flaw> {
        let table = entry.table()?;
        table.only(&["count", "slots", "cores", "memory", "instance"])?;
        let cores = table.need("cores")?.whole(1, 1 << 16)?;
        Ok(Self {
            count: table.get("count").map_or(Ok(1), |entry| entry.whole(1, 1 << 20))?,
            slots: table.get("slots").map_or(Ok(cores), |entry| entry.whole(1, 1 << 16))?,
            cores,
            memory: table.get("memory").map(Entry::bytes).transpose()?,
            instance: table
                .get("instance")
                .map(|entry| entry.text().map(str::to_owned))
                .transpose()?,
        })
    }
}
