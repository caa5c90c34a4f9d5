//! `forebay status`: of all runs and mounts of this user, whether they are well.

pub(in crate::commands) mod daemon_health;
mod status_report;

use std::path::PathBuf;

use crate::exit::CommandError;
use crate::{console, daemon_logs};
use daemon_health::{Health, find_daemons};

/// Options of `forebay status`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forebay status                   all runs and mounts of yours\n  \
    forebay status /mnt/project      one of them\n  \
    forebay status --json | jq .health\n\n\
    Exit codes, the worst of all that is looked at: 0 all is well; 1 degraded: a bucket is out of \
    reach, a log can't be written, or requests failed (EIO, ENOSPC, ...) within five minutes; 3 \
    nothing is mounted; 4 a daemon does not answer within two seconds, or is gone and left its mount \
    behind. They are those of a service (LSB), for `ExecCondition=` and monitors."
)]
pub(crate) struct Args {
    /// A directory that is managed or mounted; without it, all of yours
    #[arg(value_name = "MOUNT")]
    mount: Option<PathBuf>,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let at = args.mount.as_deref().map(daemon_logs::absolute_place);
    let found = find_daemons(at.as_deref()).map_err(|error| {
        CommandError::new(
            4,
            format!("looking for daemons: {error}"),
            "is /proc mounted? `forebay doctor` says",
        )
    })?;
    let health = found.worst_health();
    let text = match (args.json, &at) {
        (true, _) => status_report::as_json(&found),
        (false, Some(at)) if health == Health::Nothing => {
            let why = format!("nothing of yours is at {}", at.display());
            return Err(CommandError::new(
                health.code(),
                why,
                "`forebay status` shows all of yours",
            ));
        }
        (false, _) => status_report::as_text(&found),
    };
    console::print(&text);
    Ok(health.code())
}
