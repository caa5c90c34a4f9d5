//! What the machine's caches hold when a run begins.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};

use crate::exit::{CommandError, NOTHING_RUN};

/// What is done about the machine's caches before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PageCacheMode {
    /// As the run before left them
    AsIs,
    /// Everything is written back, and dropped
    Cold,
    /// One run on each storage goes before, and does not count
    Warm,
}

const DROP: &str = "/proc/sys/vm/drop_caches";

impl PageCacheMode {
    /// In words.
    pub(super) const fn in_words(self) -> &'static str {
        match self {
            Self::AsIs => "caches as they were left",
            Self::Cold => "caches dropped before each run",
            Self::Warm => "caches warmed by a run that does not count",
        }
    }

    /// Can it be done at all?
    pub(super) fn ensure_possible(self) -> Result<(), CommandError> {
        if self != Self::Cold {
            return Ok(());
        }
        File::options().write(true).open(DROP).map(drop).map_err(Self::drop_error)
    }

    /// Does it.
    pub(super) fn prepare_caches(self) -> Result<(), CommandError> {
        if self != Self::Cold {
            return Ok(());
        }
        rustix::fs::sync();
        std::fs::write(DROP, "3").map_err(Self::drop_error)
    }

    fn drop_error(error: io::Error) -> CommandError {
        let message = format!("caches can't be dropped: {DROP}: {error}");
        CommandError::new(NOTHING_RUN, message, "be root, or take --cache warm")
    }
}
