//! Logs of daemons: where one is to be, where they are, and their last lines for who lost one.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use forebay_volume::daemon_log::{
    FORMAT, LOG, LogFolder, LogLevels, LogOptions, LogOwner, LogOwnership, last_lines,
    list_log_folders,
};
use forebay_volume::launch::{lasting_mounts, resolve_mount_point};

use crate::exit::{CommandError, NOTHING_RUN};
use crate::{console, state_directories};

/// The folder of the state directory in which each daemon has one.
const SHELF: &str = "daemons";
/// What says how much is logged, where no option does.
const LEVELS: &str = "FOREBAY_LOG";
/// Lines that are told of a daemon that is lost.
const LAST: usize = 10;

/// What a daemon is to log; `name` is that of its run, or would be.
pub(crate) fn wanted_log(
    levels: Option<&LogLevels>,
    name: &str,
    foreground: bool,
) -> Result<LogOptions, CommandError> {
    let word = std::env::var(LEVELS).ok().filter(|word| !word.is_empty());
    let levels = match (levels, word) {
        (Some(levels), _) => Some(levels.clone()),
        (None, Some(word)) => Some(word.parse::<LogLevels>().map_err(|error| {
            let next = "set it as `--log` takes it, or unset it; nothing was run";
            CommandError::new(NOTHING_RUN, format!("{LEVELS}: {error}"), next)
        })?),
        (None, None) => None,
    };
    Ok(LogOptions {
        folder: state_directories::state_file(SHELF)?.join(name.trim_end_matches(".run")),
        is_asked_for: levels.is_some(),
        levels: levels.unwrap_or_default(),
        to_stderr: foreground,
        to_journal: foreground && stderr_is_journal(),
    })
}

/// Whether standard error is the stream of which systemd says so: systemd.exec(5),
/// `$JOURNAL_STREAM`.
fn stderr_is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let held = std::fs::File::from(match rustix::io::dup(rustix::stdio::stderr()) {
        Ok(held) => held,
        Err(_) => return false,
    });
    held.metadata().is_ok_and(|held| stream == format!("{}:{}", held.dev(), held.ino()))
}

/// Folders of all daemons of this user that left a log or write one, the newest first.
pub(crate) fn list_daemon_logs() -> Vec<LogFolder> {
    let mut all: Vec<LogFolder> = state_directories::safe_directories()
        .iter()
        .flat_map(|state| list_log_folders(&state.join(SHELF)))
        .collect();
    all.sort_by_cached_key(|one| std::cmp::Reverse(time_of_start(&one.folder)));
    all
}

/// The second that a folder's name says, and when in it the folder was made: behind the second is the
/// number of a process, and those begin anew.
fn time_of_start(folder: &Path) -> (OsString, Option<SystemTime>, OsString) {
    let name = folder.file_name().unwrap_or_default();
    let bytes = name.as_bytes();
    let second = bytes.iter().rposition(|byte| *byte == b'-').unwrap_or(bytes.len());
    let made = std::fs::metadata(folder).and_then(|folder| folder.created()).ok();
    (OsStr::from_bytes(&bytes[..second]).to_owned(), made, name.to_owned())
}

/// The newest that served this place, or one above it.
pub(crate) fn find_log_serving(at: &Path) -> Option<LogFolder> {
    list_daemon_logs().into_iter().find(|one| match &one.told {
        LogOwnership::Known(LogOwner { points, .. }) => {
            points.iter().any(|point| at.starts_with(point))
        }
        LogOwnership::Newer(_) | LogOwnership::Nothing => false,
    })
}

/// Refuses what a newer Forebay wrote.
pub(crate) fn refuse_newer(one: &LogFolder) -> Result<(), CommandError> {
    let LogOwnership::Newer(format) = one.told else { return Ok(()) };
    let log = one.folder.join(LOG);
    Err(CommandError::new(
        1,
        newer_format_message(&one.folder, format),
        format!("use that one, or read {}", log.display()),
    ))
}

/// Says that a newer Forebay wrote a folder.
pub(crate) fn newer_format_message(folder: &Path, format: u32) -> String {
    format!(
        "{} is of a newer Forebay (format {format}, and this one knows {FORMAT})",
        folder.display()
    )
}

/// The absolute form of a path, without asking a mount whose daemon may not answer.
pub(crate) fn absolute_place(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mounts = lasting_mounts().unwrap_or_default();
    match mounts.iter().any(|mount| absolute.starts_with(&mount.point)) {
        true => absolute,
        false => resolve_mount_point(path),
    }
}

/// Prints the last that a daemon said which is lost.
pub(crate) fn print_last_lines(folder: &Path) {
    let log = folder.join(LOG);
    match last_lines(folder, LAST) {
        Ok(lines) => {
            console::note(&format!("the last lines of the daemon's log, {}:", log.display()));
            lines.iter().for_each(|line| console::write_stderr(&format!("  {line}\n")));
        }
        Err(error) => {
            console::note(&format!("the daemon left no log: {}: {error}", log.display()));
        }
    }
}
