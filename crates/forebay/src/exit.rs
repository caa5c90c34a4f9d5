//! Exit codes of Forebay's own, and the error that carries them. Each is documented in `--help`,
//! README.md and the tests walk them; they follow env(1), nohup(1) and docker-run(1).

/// What was typed makes no sense; as the parser of the command line ends.
pub(crate) const WRONG_USAGE: i32 = 2;
/// The daemon was lost during the run: programs got I/O errors, results may be incomplete.
pub(crate) const DAEMON_LOST: i32 = 120;
/// Files are on other tiers still that belong in place, or could not be published; they are where
/// they were. Or nobody waited for them.
pub(crate) const FILES_AWAY: i32 = 121;
/// Forebay itself failed before the command was started; nothing was run.
pub(crate) const NOTHING_RUN: i32 = 125;
/// The command was found but can't be executed.
pub(crate) const NOT_EXECUTABLE: i32 = 126;
/// The command was not found.
pub(crate) const NOT_FOUND: i32 = 127;

/// Why a command of Forebay's ends early.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) code: i32,
    /// Cause and place.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) next: Option<String>,
}

impl CommandError {
    pub(crate) fn new(
        code: i32,
        message: impl Into<String>,
        next: impl Into<String>,
    ) -> CommandError {
        CommandError { code, message: message.into(), next: Some(next.into()) }
    }
}
