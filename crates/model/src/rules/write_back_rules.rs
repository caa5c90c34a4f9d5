//! When files on a tier go where they are to be in the end: when the run ends, or as soon as nobody
//! uses them any more.

use super::{Placement, Rules, RunEndAction, parse_choice};
use crate::toml::{ConfigError, TomlTable};

pub(super) const DRAINS: [(&str, WriteBackTrigger); 2] =
    [("at-end", WriteBackTrigger::End), ("on-close", WriteBackTrigger::Closed)];

/// When a file on a tier comes home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteBackTrigger {
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
        self.placements.iter().any(|one| one.drain == WriteBackTrigger::Closed && which(one))
    }
}

pub(super) fn parse_write_back(
    table: TomlTable<'_>,
    after: RunEndAction,
) -> Result<WriteBackTrigger, ConfigError> {
    let drain = parse_choice(table, "write_back", &DRAINS)?;
    match table
        .get("write_back")
        .filter(|_| drain == WriteBackTrigger::Closed && after != RunEndAction::Restore)
    {
        None => Ok(drain),
        Some(entry) => {
            let message = "write_back = \"on-close\" makes plain files in place, and after says \
                           that there are to be none";
            Err(entry.key_error(message))
        }
    }
}
