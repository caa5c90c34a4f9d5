//! When files on a tier go where they are to be in the end: when the run ends, or as soon as nobody
//! uses them any more.

use super::{AFTERS, After, LAYOUTS, Layout, Rules, choice};
use crate::toml::{Flaw, Table};

const DRAINS: [(&str, Drain); 2] = [("end", Drain::End), ("closed", Drain::Closed)];

/// When a file on a tier comes home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drain {
    /// When the run ends.
    #[default]
    End,
    /// Some moments after its last close, while the run goes on.
    Closed,
}

impl Rules {
    /// Whether some rule has files come home while the run goes on.
    pub fn drains(&self) -> bool {
        self.placements.iter().any(|placement| placement.drain == Drain::Closed)
    }
}

pub(super) fn drain(table: Table<'_>) -> Result<Drain, Flaw> {
    let drain = choice(table, "drain", &DRAINS)?;
    let Some(entry) = table.get("drain").filter(|_| drain == Drain::Closed) else {
        return Ok(drain);
    };
    if choice(table, "after", &AFTERS)? != After::Restore {
        let message = "drain = \"closed\" brings files home, and after says that they don't come";
        return Err(entry.key_flaw(message));
    }
    if choice(table, "layout", &LAYOUTS)? == Layout::Packed {
        let message = "packed files come home when the run ends: drain is for layout = \"plain\"";
        return Err(entry.key_flaw(message));
    }
    Ok(drain)
}
