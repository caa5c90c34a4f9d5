//! `forebay unmount`: the end of a mount, with all its files home.

use std::path::{Path, PathBuf};

use forebay_model::ByteCount;
use forebay_os::mount_users::MountUser;
use forebay_volume::launch::{
    UnmountManner, UnmountOutcome, lasting_mounts, resolve_mount_point, unmount_volume,
};

use super::mount::{bucket_volume, finish_unmount};
use crate::exit::{CommandError, FILES_AWAY};
use crate::{console, daemon_logs, write_back_progress};

/// What says that files of a volume are on tiers (docs/formats/tiers.md).
const BOOK: &str = ".forebay/volume.json";

/// Options of `forebay unmount`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay unmount /mnt/project\n\n\
    It returns when all files that rules sent to tiers are where the rules want them in the end. \
    Status 0: so it is; 1: nothing of Forebay's is mounted there, or it is in use; 121: files \
    could not be written back and are on their tier.")]
pub(crate) struct Args {
    /// Where the volume is shown
    dir: PathBuf,
    /// Do not wait for those who use it, nor for a bucket that takes nothing: it ends when they are
    /// done; who waits for a daemon that was killed is freed
    #[arg(long)]
    lazy: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    unmount(&args.dir, if args.lazy { UnmountManner::Lazy } else { UnmountManner::Polite })
}

/// Unmounts, and says in words and by an exit code what came of it.
pub(super) fn unmount(dir: &Path, manner: UnmountManner) -> Result<i32, CommandError> {
    let point = resolve_mount_point(dir);
    let shown = point.display();
    let waiting = || {
        console::note(
            "waiting for the daemon, or for programs in containers and other sessions that still \
             use the mount; Ctrl-C stops the waiting alone",
        );
    };
    // Who does not wait is told of no wait, and nothing is asked that may not answer.
    if manner == UnmountManner::Polite {
        bucket_volume::report_ailing_bucket(&point);
    }
    let ended = unmount_volume(
        &point,
        manner,
        waiting,
        write_back_progress::show_progress,
        bucket_volume::report_bucket_wait,
    );
    if let (Ok(UnmountOutcome::Orphan(_)), Some(log)) =
        (&ended, daemon_logs::find_log_serving(&point))
    {
        daemon_logs::print_last_lines(&log.folder);
    }
    match ended {
        Ok(UnmountOutcome::Done(end)) => finish_unmount(Some(end), None),
        Ok(UnmountOutcome::Orphan(volume)) if bucket_volume::is_in_bucket(&volume) => {
            let message = format!("{shown} is unmounted; its daemon was gone");
            let next = "nothing is lost: mounting it again brings the rest to its bucket";
            Err(CommandError::new(FILES_AWAY, message, next))
        }
        Ok(UnmountOutcome::Orphan(volume)) if !volume.join(BOOK).exists() => {
            console::note(&format!("{shown} is unmounted; its daemon was gone"));
            Ok(0)
        }
        Ok(UnmountOutcome::Orphan(volume)) => {
            let message =
                format!("{shown} is unmounted; its daemon was gone, and files are on tiers");
            let volume = volume.display();
            Err(CommandError::new(
                FILES_AWAY,
                message,
                format!("nothing is lost: `forebay restore {volume}` writes them back"),
            ))
        }
        Ok(UnmountOutcome::Shipping(waiting)) => {
            let (url, why) = (&waiting.url, &waiting.why);
            let message = format!("{shown} is unmounted; not all of it is in {url}: {why}");
            let kept = waiting.kept.display();
            let next = format!("nothing is lost: its daemon goes on trying, and it is in {kept}");
            Err(CommandError::new(FILES_AWAY, message, next))
        }
        Ok(UnmountOutcome::Late(progress)) => {
            let left = progress.map_or(String::new(), |progress| {
                let (files, bytes) = (progress.files, progress.bytes);
                format!(
                    ": {} of {} files ({}) are left",
                    files.1.saturating_sub(files.0),
                    files.1,
                    ByteCount(bytes.1.saturating_sub(bytes.0))
                )
            });
            let message = format!("{shown} is left, and not all of it is safe yet{left}");
            let next = "its daemon goes on as long as this machine is there; what is not brought then \
                        is on its disk alone";
            Err(CommandError::new(FILES_AWAY, message, next))
        }
        Ok(UnmountOutcome::Lingering(users)) => {
            let users = list_users(&users);
            console::note(&format!(
                "{shown} ends, and files are written back, when {users} are done"
            ));
            Ok(0)
        }
        Err((error, _)) if error.kind() == std::io::ErrorKind::NotFound => {
            let mounts = lasting_mounts().unwrap_or_default();
            let points: Vec<String> =
                mounts.iter().map(|mount| mount.point.display().to_string()).collect();
            let next = match points.is_empty() {
                true => "no volume is mounted on this machine".to_owned(),
                false => format!("volumes are mounted at {}", points.join(", ")),
            };
            Err(CommandError::new(1, format!("nothing of Forebay's is mounted at {shown}"), next))
        }
        Err((error, users)) if users.is_empty() => {
            let next = "leave it with all programs and shells (`fuser -vm` names them), or --lazy";
            Err(CommandError::new(1, format!("{shown} can't be unmounted: {error}"), next))
        }
        Err((_, users)) => Err(CommandError::new(
            1,
            format!("{shown} is in use: {}", list_users(&users)),
            "end these or let them leave it, then unmount again; or --lazy",
        )),
    }
}

fn list_users(users: &[MountUser]) -> String {
    let one = |user: &MountUser| format!("{} (pid {})", user.name, user.pid);
    users.iter().map(one).collect::<Vec<_>>().join(", ")
}
