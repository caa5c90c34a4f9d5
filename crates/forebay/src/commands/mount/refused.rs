//! What can be in the way of a mount, in words.

use std::path::Path;

use forebay_volume::launch::{LaunchError, lasting_mounts};
use forebay_volume::overmount::ALONE;

use super::super::run::explain_failure;
use crate::exit::{CommandError, NOTHING_RUN};

/// A second mount over the first would hide it, and a dead one can't be looked into.
pub(super) fn refuse_mounted_point(point: &Path) -> Result<(), CommandError> {
    let mounts = lasting_mounts().unwrap_or_default();
    let Some(there) = mounts.iter().find(|mount| mount.point == point) else { return Ok(()) };
    Err(CommandError::new(
        NOTHING_RUN,
        format!("{} is mounted at {} already", there.source, point.display()),
        format!("`forebay unmount {}` first, or mount elsewhere", point.display()),
    ))
}

/// A name of those in the directory that a mount over it hides.
pub(super) fn first_hidden_name(point: &Path) -> Result<Option<String>, CommandError> {
    if point.is_file() {
        let message = format!("{} is a file", point.display());
        return Err(CommandError::new(
            NOTHING_RUN,
            message,
            "name a directory; nothing was mounted",
        ));
    }
    // One that can't be read is told when it is mounted on.
    let first = std::fs::read_dir(point).ok().and_then(|mut names| names.next()?.ok());
    Ok(first.map(|entry| entry.file_name().to_string_lossy().into_owned()))
}

pub(super) fn explain_mount_failure(failure: LaunchError) -> CommandError {
    let stop = match failure {
        LaunchError::Refused(refusal) if !refusal.attached => CommandError::new(
            NOTHING_RUN,
            format!("{} can't be used: {}", refusal.path.display(), refusal.error),
            "name directories that exist and that you may read",
        ),
        LaunchError::Closed(step, error) => {
            let next = match error.to_string() {
                why if why.contains("user_allow_other") => {
                    "the administrator adds a line `user_allow_other` to /etc/fuse.conf"
                }
                why if why == ALONE => {
                    "add --allow-root, or `forebay detach` it, or use `forebay run`, which needs \
                     neither"
                }
                _ => "`forebay doctor` says what is missing here and how to mend it",
            };
            CommandError::new(NOTHING_RUN, format!("{step} failed: {error}"), next)
        }
        other => explain_failure(other),
    };
    let next = stop.next.map(|next| next.replace("nothing was run", "nothing was mounted"));
    CommandError { next, ..stop }
}
