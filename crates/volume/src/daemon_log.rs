//! What a daemon has to say while nobody looks: lines in `daemon.log`, in a folder of its own, and
//! on standard error where somebody holds it in the foreground.
//!
//! Whoever has something to say formats it and puts it into a queue that has an end; a thread
//! writes. So a disk that is full, slow or gone costs lines, never a request: how many are missing
//! is said in the log, and once at the end of the daemon.

mod file;
mod levels;
mod limit;
mod line;
mod log_folders;
mod log_queue;
mod log_writer;
mod logger;
mod tail;

use std::path::PathBuf;

pub use levels::{LogLevels, LogLevelsError};
pub use log_folders::{
    FORMAT, LogFolder, LogOwner, LogOwnership, is_alive, list_log_folders, read_about,
};
pub(crate) use log_queue::{append_held_lines, start_buffering, take_errors};
pub(crate) use logger::{close, log_problem, path, start_logging};
pub use tail::{LOG, OLDER, last_lines};

/// Where a daemon says what it has to say, and how much.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// A folder that is its own, to be made.
    pub folder: PathBuf,
    /// What is said at all.
    pub levels: LogLevels,
    /// Somebody asked for the log: it stays, however well all went.
    pub is_asked_for: bool,
    /// It goes to standard error, too.
    pub to_stderr: bool,
    /// Standard error is the journal of systemd, which wants to know how bad a line is.
    pub to_journal: bool,
}
