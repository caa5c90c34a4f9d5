//! When files on a tier go where they are to be in the end: when the run ends, or as soon as nobody
//! uses them any more.

use super::{After, Placement, Rules, parse_choice};
use crate::toml::{Flaw, Table};

pub(super) const DRAINS: [(&str, Drain); 2] = [("at-end", Drain::End), ("on-close", Drain::Closed)];

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
    /// Whether some rule has files with a name in place come home while the run goes on.
    pub fn writes_back_during_run(&self) -> bool {
        self.any_written_back_on_close(|placement| !placement.layout.is_packed())
    }

    /// Whether some rule has packed files come home while the run goes on.
    pub fn writes_back_packed_eagerly(&self) -> bool {
        self.any_written_back_on_close(|placement| placement.layout.is_packed())
    }

    fn any_written_back_on_close(&self, which: impl Fn(&Placement) -> bool) -> bool {
        self.placements.iter().any(|one| one.drain == Drain::Closed && which(one))
    }
}

pub(super) fn parse_write_back(table: Table<'_>, after: After) -> Result<Drain, Flaw> {
    let drain = parse_choice(table, "write_back", &DRAINS)?;
    match table.get("write_back").filter(|_| drain == Drain::Closed && after != After::Restore) {
        None => Ok(drain),
        Some(entry) => {
            let message = "write_back = \"on-close\" makes plain files in place, and after says \
                           that there are to be none";
            Err(entry.key_error(message))
        }
    }
}
