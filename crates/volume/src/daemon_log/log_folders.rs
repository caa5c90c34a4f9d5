//! The folders of daemons, side by side: one for each that serves, and those of a few that ended
//! badly. A daemon holds a lock on its own.

use std::cmp::Reverse;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{LOG, OLDER};

/// What says of whom a log is.
pub(super) const ABOUT: &str = "daemon.json";
/// The format of that; who finds a newer one leaves the folder alone.
pub const FORMAT: u32 = 1;
/// Logs of daemons that are gone which are kept.
const KEPT: usize = 16;
/// How often its lock is asked for, and how long between two.
const LOOKS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// Whose log it is. Paths are text, in which what is not UTF-8 is replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogOwner {
    /// [`FORMAT`]
    pub format: u32,
    /// The daemon's process.
    pub pid: u32,
    /// Seconds since 1970 when it began.
    pub started_unix: i64,
    /// It serves a mount, not a run.
    pub lasting: bool,
    /// What it shows.
    pub volume: String,
    /// Where.
    pub points: Vec<String>,
}

/// What a folder says of its daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogOwnership {
    /// All that is to be said.
    Known(LogOwner),
    /// A newer Forebay wrote it, in this format.
    Newer(u32),
    /// Nothing that could be understood.
    Nothing,
}

/// A folder of a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFolder {
    /// Where.
    pub folder: PathBuf,
    /// Of whom.
    pub told: LogOwnership,
}

/// What a folder says of its daemon.
#[must_use]
pub fn read_about(folder: &Path) -> LogOwnership {
    #[derive(Deserialize)]
    struct FormatVersion {
        format: u32,
    }
    let text = std::fs::read(folder.join(ABOUT)).unwrap_or_default();
    match serde_json::from_slice::<FormatVersion>(&text) {
        Ok(FormatVersion { format }) if format > FORMAT => LogOwnership::Newer(format),
        Ok(_) => serde_json::from_slice(&text).map_or(LogOwnership::Nothing, LogOwnership::Known),
        Err(_) => LogOwnership::Nothing,
    }
}

/// All folders, those of the newest daemons first: their names begin with the second, and the number
/// of a process behind it says nothing of its age.
#[must_use]
pub fn list_log_folders(shelf: &Path) -> Vec<LogFolder> {
    let entries = std::fs::read_dir(shelf).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort_by_cached_key(|folder| Reverse(start_order(folder)));
    let of = |folder: PathBuf| LogFolder { told: read_about(&folder), folder };
    folders.into_iter().map(of).collect()
}

/// By which folders are in the order of their daemons' starts.
fn start_order(folder: &Path) -> (Vec<u8>, Option<SystemTime>, PathBuf) {
    let name = folder.file_name().unwrap_or_default().as_encoded_bytes();
    let second = name.split(|byte| *byte == b'-').next().unwrap_or_default().to_vec();
    let made = std::fs::metadata(folder.join(ABOUT)).and_then(|about| about.modified());
    (second, made.ok(), folder.to_owned())
}

/// Whether the daemon lives whose folder it is. Where nobody knows, it does.
#[must_use]
pub fn is_alive(folder: &Path) -> bool {
    let opened = open_folder(CWD, folder);
    opened.is_ok_and(|opened| flock(&opened, FlockOperation::NonBlockingLockShared).is_err())
}

/// Makes a folder for this process, as long as it lives.
pub(super) fn claim_log_folder(folder: &Path, about: &LogOwner) -> io::Result<OwnedFd> {
    let (Some(shelf), Some(name)) = (folder.parent(), folder.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    DirBuilder::new().recursive(true).mode(0o700).create(shelf)?;
    let shelf = open_folder(CWD, shelf)?;
    match mkdirat(&shelf, name, Mode::RWXU) {
        Err(error) if error != Errno::EXIST => return Err(error.into()),
        _ => {}
    }
    let folder = open_folder(&shelf, Path::new(name))?;
    if fstat(&folder)?.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is another user's"));
    }
    // Where there are no locks (some network storage), nobody takes it for that of one who is gone.
    for _ in 0..LOOKS {
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            // Somebody looks whether we live.
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            _ => break,
        }
    }
    let text = serde_json::to_vec(about)?;
    let how = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&folder, ABOUT, how, Mode::RUSR | Mode::WUSR)?);
    io::Write::write_all(&mut file, &text)?;
    Ok(folder)
}

fn open_folder(at: impl std::os::fd::AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, path, how, Mode::empty())
}

/// Takes away what daemons left that are gone, but for the newest few. What newer Forebays wrote
/// stays.
pub(super) fn prune_log_folders(shelf: &Path) {
    let mut gone = 0;
    for LogFolder { folder, told } in list_log_folders(shelf) {
        let Ok(opened) = open_folder(CWD, &folder) else { continue };
        // Its daemon lives, or nobody knows.
        if flock(&opened, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        gone += 1;
        if gone > KEPT && !matches!(told, LogOwnership::Newer(_)) {
            for name in [LOG, OLDER, ABOUT] {
                let _ = unlinkat(&opened, name, AtFlags::empty());
            }
            remove_log_folder(&folder);
        }
    }
}

/// Takes an empty folder away, and the shelf with the last.
pub(super) fn remove_log_folder(folder: &Path) {
    if std::fs::remove_dir(folder).is_ok()
        && let Some(shelf) = folder.parent()
    {
        let _ = std::fs::remove_dir(shelf);
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, logs of the dead pile up, or one of the living is taken away.
    use super::*;

    fn about(pid: u32) -> LogOwner {
        let (volume, points) = ("/data".to_owned(), vec!["/mnt".to_owned()]);
        LogOwner { format: FORMAT, pid, started_unix: 0, lasting: true, volume, points }
    }

    #[test]
    fn of_those_who_are_gone_the_newest_few_are_kept() {
        let place = tempfile::tempdir().expect("a folder");
        let shelf = place.path().join("daemons");
        let name = |number| shelf.join(format!("t{number:03}"));
        let alive = claim_log_folder(&name(0), &about(0)).expect("taken");
        for number in 1..40 {
            drop(claim_log_folder(&name(number), &about(number)).expect("taken"));
            std::fs::write(name(number).join(LOG), "x\n").expect("written");
        }
        std::fs::write(name(1).join(ABOUT), "{\"format\": 7, \"new\": {}}").expect("written");
        prune_log_folders(&shelf);
        let left = list_log_folders(&shelf);
        let names: Vec<_> = left.iter().map(|one| one.folder.clone()).collect();
        let expected: Vec<_> = (24..40).rev().chain([1, 0]).map(name).collect();
        assert_eq!(names, expected);
        assert_eq!(left[0].told, LogOwnership::Known(about(39)));
        assert_eq!(left[16].told, LogOwnership::Newer(7));
        drop(alive);
    }

    #[test]
    fn of_those_of_one_second_the_number_of_the_process_says_nothing() {
        let place = tempfile::tempdir().expect("a folder");
        let names = ["20260101T000000Z-9999", "20260101T000000Z-10003", "20260101T000000Z-301"];
        for (later, name) in names.iter().enumerate() {
            let folder = place.path().join(name);
            drop(claim_log_folder(&folder, &about(later as u32)).expect("taken"));
            let about = File::options().append(true).open(folder.join(ABOUT)).expect("made");
            let at = SystemTime::UNIX_EPOCH + Duration::from_millis(later as u64);
            about.set_modified(at).expect("set");
        }
        let left = list_log_folders(place.path()).into_iter().map(|one| one.folder);
        assert!(left.eq(names.iter().rev().map(|name| place.path().join(name))));
    }

    #[test]
    fn a_folder_behind_a_link_is_not_taken() {
        let place = tempfile::tempdir().expect("a folder");
        let other = place.path().join("other");
        std::fs::create_dir(&other).expect("made");
        std::os::unix::fs::symlink(&other, place.path().join("mine")).expect("linked");
        assert!(claim_log_folder(&place.path().join("mine"), &about(1)).is_err());
        assert_eq!(std::fs::read_dir(&other).expect("read").count(), 0);
    }
}
