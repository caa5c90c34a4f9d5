//! `forebay logs`: what a daemon has said.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forebay_volume::daemon_log::{LOG, LogFolder, LogOwnership, is_alive, last_lines, read_about};
use forebay_volume::live::{list_daemons, query_daemon};

use crate::exit::CommandError;
use crate::{console, daemon_logs};

/// Between two looks of `--follow`.
const LOOK: Duration = Duration::from_millis(200);
/// Lines before those that `--follow` waits for.
const BEFORE: usize = 10;

/// Options of `forebay logs`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forebay logs                     of the newest daemon of yours\n  \
    forebay logs /mnt/project        of the one that serves this, or served it last\n  \
    forebay logs -n 20 --follow      the last lines, and those that come\n\n\
    Each `forebay run` and `forebay mount` has a daemon, and each daemon a log. Of one that ended \
    well and had nothing to warn of it is gone, unless --log or FOREBAY_LOG asked for it; of others \
    the last 16 are kept. Names in it are escaped; it has no content of files, and no keys.\n\n\
    Exit codes: 0, or 1 if there is no such log."
)]
pub(crate) struct Args {
    /// A directory that is managed or mounted, or was; or one that holds a daemon.log
    #[arg(value_name = "MOUNT|DIR")]
    mount: Option<PathBuf>,
    /// The last lines alone, so many
    #[arg(short = 'n', long, value_name = "LINES")]
    lines: Option<usize>,
    /// Go on with what comes, until the daemon ends
    #[arg(short, long)]
    follow: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let found = find_daemon_log(args.mount.as_deref())?;
    daemon_logs::refuse_newer(&found)?;
    let folder = found.folder;
    let no_log = |error: std::io::Error| {
        let why = format!("{}: {error}", folder.join(LOG).display());
        CommandError::new(1, why, "`forebay logs` without a directory shows the newest")
    };
    if args.follow {
        return follow_log(&folder, args.lines.unwrap_or(BEFORE)).map(|()| 0).map_err(no_log);
    }
    let lines = last_lines(&folder, args.lines.unwrap_or(usize::MAX)).map_err(no_log)?;
    for line in lines {
        // Whoever reads may have seen enough (`| head`).
        if console::print_all(&format!("{line}\n")).is_err() {
            break;
        }
    }
    Ok(0)
}

/// The folder of the daemon that is meant.
fn find_daemon_log(wanted: Option<&Path>) -> Result<LogFolder, CommandError> {
    let known = |folder: PathBuf| LogFolder { told: read_about(&folder), folder };
    let Some(path) = wanted else {
        return daemon_logs::list_daemon_logs().into_iter().next().ok_or_else(|| {
            let next = "daemons that ended well leave none: `--log info` keeps it";
            CommandError::new(1, "there is no log of a daemon of yours", next)
        });
    };
    let at = daemon_logs::absolute_place(path);
    let of_live = list_daemons()
        .unwrap_or_default()
        .into_iter()
        .filter_map(|pid| query_daemon(pid).ok().flatten());
    let serves = |points: &[PathBuf]| {
        let above = points.iter().filter(|point| at.starts_with(point));
        above.map(|point| point.as_os_str().len()).max()
    };
    let nearest = of_live
        .filter_map(|live| Some((serves(&live.points)?, live.log?)))
        .max_by_key(|(depth, _)| *depth);
    if let Some(folder) = nearest.and_then(|(_, log)| log.parent().map(Path::to_owned)) {
        return Ok(known(folder));
    }
    if let Some(kept) = daemon_logs::find_log_serving(&at) {
        return Ok(kept);
    }
    let kept = known(at.clone());
    if at.join(LOG).is_file() || matches!(kept.told, LogOwnership::Newer(_)) {
        return Ok(kept);
    }
    let why = format!("no daemon of yours with a log serves {}, nor did", at.display());
    Err(CommandError::new(
        1,
        why,
        "`forebay status` says what is mounted; `forebay logs` shows the newest log",
    ))
}

/// Prints the last lines and what comes after them, until the daemon has ended.
fn follow_log(folder: &Path, before: usize) -> std::io::Result<()> {
    let path = folder.join(LOG);
    let mut file = File::open(&path)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut fresh = lines[lines.len().saturating_sub(before)..].concat();
    loop {
        // Asked before what it may have written last is read.
        let lives = is_alive(folder);
        file.read_to_string(&mut fresh)?;
        if let (Ok(now), Ok(here)) = (std::fs::metadata(&path), file.metadata())
            && (now.dev(), now.ino()) != (here.dev(), here.ino())
        {
            // It was full, or moved away; what came into it last was read.
            file.read_to_string(&mut fresh)?;
            file = File::open(&path)?;
            continue;
        }
        if console::print_all(&fresh).is_err() || !lives {
            return Ok(());
        }
        fresh.clear();
        std::thread::sleep(LOOK);
    }
}
