//! The end of a lasting mount: who is in the way, and waiting until all files are home.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use super::lasting_mount::{UnmountReport, UnmountWait, wait_for_last_word};
use crate::ipc::BucketWaiting;
use crate::ipc::WriteBackProgress;
use crate::ipc::{Channel, find_daemon_sockets};
use crate::overmount::{
    KIND, MountEntry, abort_connection, current_mounts, open_abort, unmount_at,
};
use forebay_os::mount_users::{MountUser, MountUsers, find_mount_users, is_zombie};

/// A wait longer than this is explained.
const PATIENCE_MS: u16 = 2000;

/// Who is about to leave, such as the daemon of a run that has just ended, gets this long.
const LEAVING: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(50);

/// What came of unmounting.
#[derive(Debug)]
pub enum UnmountOutcome {
    /// It is gone, and the daemon has said how.
    Done(UnmountReport),
    /// It is gone, and no daemon was there to say anything: it was killed before. The volume.
    Orphan(PathBuf),
    /// Nobody new can use it; these still do, and then it ends.
    Lingering(Vec<MountUser>),
    /// It is gone, and its daemon goes on bringing files to a bucket that does not take them now.
    Shipping(BucketWaiting),
    /// It is gone, and its daemon was not done within the time that it was given; so far had files
    /// come, if they were on their way.
    Late(Option<WriteBackProgress>),
}

/// What becomes of those who still use a mount, and how long its daemon is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnmountManner {
    /// They are in the way.
    Polite,
    /// Nobody new can use it, and it ends when they are done. A bucket that takes nothing is not
    /// waited for.
    Lazy,
    /// They are cut off: their requests fail from now on (ECONNABORTED, ENOTCONN). What they have
    /// closed or synced is saved, as is what they have written, as far as it goes.
    Leave {
        /// For so long the daemon is waited for.
        within: Duration,
    },
}

/// Where volumes are mounted for everybody, by place.
///
/// # Errors
/// Where /proc is not mounted.
pub fn lasting_mounts() -> io::Result<Vec<MountEntry>> {
    let mut found: Vec<MountEntry> = current_mounts()?
        .into_iter()
        .filter(|mount| mount.kind == KIND && is_lasting(mount))
        .collect();
    found.sort_by(|a, b| a.point.cmp(&b.point));
    Ok(found)
}

/// Those of `forebay run` are named `forebay`; lasting ones after their volume.
fn is_lasting(mount: &MountEntry) -> bool {
    mount.source.starts_with('/')
}

/// Unmounts what is mounted at `point` in this manner, and waits until its files are home.
/// `waiting` is called if nothing is heard for a while, `underway` as files come home, `waits` now
/// and then if a bucket is in the way.
///
/// # Errors
/// NotFound when nothing of ours is mounted there; ResourceBusy, with those who use it; else the
/// system's.
pub fn unmount_volume(
    point: &Path,
    manner: UnmountManner,
    waiting: fn(),
    underway: fn(&WriteBackProgress),
    waits: fn(&BucketWaiting),
) -> Result<UnmountOutcome, (io::Error, Vec<MountUser>)> {
    let plain = |error| (error, Vec::new());
    let (lazy, leaves) =
        (manner == UnmountManner::Lazy, matches!(manner, UnmountManner::Leave { .. }));
    let within = match manner {
        UnmountManner::Leave { within } => Some(within),
        UnmountManner::Polite | UnmountManner::Lazy => None,
    };
    let all = lasting_mounts().map_err(plain)?;
    let found = all.iter().rfind(|mount| mount.point == point);
    let mount = found.ok_or_else(|| plain(io::ErrorKind::NotFound.into()))?;
    let daemon = connect_to_daemon(mount);
    let mut users = users_of_volume(&all, mount);
    let mut patience = LEAVING;
    while !users.is_empty() && !lazy && !leaves {
        if patience.is_zero() {
            return Err((io::ErrorKind::ResourceBusy.into(), users));
        }
        std::thread::sleep(STEP);
        patience = patience.saturating_sub(STEP);
        users = users_of_volume(&all, mount);
    }
    let inner = all.iter().filter(|one| one.source == mount.source && one.point.starts_with(point));
    let inner: Vec<&MountEntry> = inner.collect();
    if lazy && matches!(daemon, DaemonLiveness::Dying) {
        abort_connections(inner.iter().copied());
    }
    // While they are there: what cuts off those who use them.
    let cuts = match leaves {
        true => inner.iter().map(|one| open_abort(one.device.1)).collect(),
        false => Ok(Vec::new()),
    };
    let cuts = cuts.map_err(plain)?;
    let mut lazily = lazy || leaves;
    for one in inner.iter().rev() {
        match unmount_at(&one.point, lazily) {
            Ok(()) => {}
            // Some are gone already: half a volume, into whose empty places programs would write,
            // is worse than one that ends when its users do.
            Err(_) if !lazily && one.point != inner[inner.len() - 1].point => {
                lazily = true;
                unmount_at(&one.point, true).map_err(plain)?;
            }
            Err(error) => {
                let users = find_users(&all, mount);
                let known = !users.known.is_empty();
                return Err((error, if known { users.known } else { users.doubtful }));
            }
        }
    }
    if leaves {
        // A connection that has ended already is what is wanted.
        cuts.iter().for_each(|cut| drop(abort_connection(cut)));
        users = Vec::new();
    } else if lazily && !lazy {
        users = users_of_volume(&all, mount);
    }
    let orphan = || UnmountOutcome::Orphan(PathBuf::from(&mount.source));
    match daemon {
        _ if !users.is_empty() => Ok(UnmountOutcome::Lingering(users)),
        DaemonLiveness::Lives(daemon) => {
            if !leaves && !daemon.has_message_within(PATIENCE_MS) {
                waiting();
            }
            let waits = |waiting: &BucketWaiting| {
                if !lazy {
                    waits(waiting);
                }
                !lazy
            };
            Ok(match wait_for_last_word(&daemon, underway, waits, within) {
                UnmountWait::Word(end) => end.map_or_else(orphan, UnmountOutcome::Done),
                UnmountWait::Late(progress) => UnmountOutcome::Late(progress),
                UnmountWait::Left(waiting) => UnmountOutcome::Shipping(waiting),
            })
        }
        DaemonLiveness::Dying | DaemonLiveness::Gone => Ok(orphan()),
    }
}

/// The daemon of a mount.
enum DaemonLiveness {
    Lives(Channel),
    /// It was killed, and a thread of it waits in the kernel: the door is open and nobody answers.
    Dying,
    Gone,
}

/// Knocks at the door of a mount's daemon.
fn connect_to_daemon(mount: &MountEntry) -> DaemonLiveness {
    let owner = mount.options.split(',').find_map(|option| option.strip_prefix("user_id="));
    let door = |address| {
        // Somebody else's that lets nobody in is not waited for.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).ok()?;
        connect(&socket, &address).ok()?;
        // Believe the mount's owner only.
        let peer = rustix::net::sockopt::socket_peercred(&socket).ok()?;
        rustix::io::ioctl_fionbio(&socket, false).ok()?;
        (Some(&*peer.uid.as_raw().to_string()) == owner).then_some((peer.pid, socket))
    };
    match find_daemon_sockets(mount.device, Path::new(&mount.source)).into_iter().find_map(door) {
        Some((pid, _)) if is_zombie(pid) => DaemonLiveness::Dying,
        Some((_, socket)) => DaemonLiveness::Lives(Channel::new(socket)),
        None => DaemonLiveness::Gone,
    }
}

/// Frees those who wait for a daemon that is gone, as far as the kernel shows the mounts to us.
fn abort_connections<'m>(mounts: impl Iterator<Item = &'m MountEntry>) {
    for control in mounts.filter_map(|mount| open_abort(mount.device.1).ok()) {
        // A connection that is gone already is what is wanted.
        let _ = abort_connection(&control);
    }
}

/// Who uses a mount, or one of those below it. Who waits for another file system with its memory
/// locked is none: the kernel refuses to unmount what is mapped.
fn users_of_volume(all: &[MountEntry], mount: &MountEntry) -> Vec<MountUser> {
    find_users(all, mount).known
}

fn find_users(all: &[MountEntry], mount: &MountEntry) -> MountUsers {
    let ours = all.iter().filter(|one| one.source == mount.source);
    let devices: Vec<(u32, u32)> = ours.map(|one| one.device).collect();
    find_mount_users(&devices, Some(&mount.point))
}

/// The absolute form of a path whose last part may be a dead mount. A mount is not asked: its daemon
/// may be gone without the kernel's knowing, and who asks would wait for ever.
#[must_use]
pub fn resolve_mount_point(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let place = match (absolute.parent().map(Path::canonicalize), absolute.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => absolute.clone(),
    };
    match lasting_mounts() {
        Ok(all) if all.iter().any(|mount| mount.point == place) => place,
        _ => absolute.canonicalize().unwrap_or(place),
    }
}
