//! Covering directories for one command: a private mount namespace in which each directory is
//! hidden behind a mount of ours, while everybody outside sees it bare. It mounts and hands
//! descriptors over; it serves nothing.
//!
//! The daemon stays outside with descriptors opened before. Inside, it would wait for itself.

mod abort;
mod attached;
mod mounts;
mod namespace;
mod namespace_steps;
mod visible_mounts;
mod whole_folders;

pub(crate) use abort::{abort_connection, abort_in_namespace, open_abort};
pub use attached::{LIST, create_mount_point, read_attached, write_attached};
pub use mounts::{MountEntry, current_mounts};
pub(crate) use namespace::enter_namespace;
use namespace::receive_message;
pub use namespace::{Handover, receive_mount};
pub(crate) use namespace::{receive_descriptor, send_descriptor};
pub use namespace_steps::NamespaceError;
pub use visible_mounts::{ALONE, MountAccess, unmount_at};
pub(crate) use visible_mounts::{KIND, MountGuard, unmount_all};

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use forebay_os::file_systems::{FileSystemKind, file_system_kind};
use rustix::fs::StatVfsMountFlags;
use rustix::mount::MountFlags;

use crate::bucket::{BucketAccess, PreparedPrefix};
use crate::reads::PreparedReads;
use forebay_os::real_path::{open_resolved_directory, resolve_path};

/// The most mounts below covered directories that get a mount of their own.
const MOST_SUBMOUNTS: usize = 32;

/// A directory to cover, with what is needed to serve it.
#[derive(Debug)]
pub struct OvermountTarget {
    /// Where it is, absolute and without links.
    pub path: PathBuf,
    /// Where it is shown: the same place, but for volumes mounted elsewhere and attached ones.
    pub point: PathBuf,
    /// The directory itself, opened before anything covers it.
    pub root: OwnedFd,
    /// The file system that holds it.
    pub fs: FileSystemKind,
    /// Device or export, as the mount table has it.
    pub source: Option<String>,
    /// It was asked for; else it is a mount below one that was, or attached to it.
    pub asked: bool,
    /// It lies elsewhere, and was attached here, relative to the volume.
    pub attached: Option<PathBuf>,
    /// The prefix of a bucket that it shows.
    pub(crate) lent: Option<PreparedPrefix>,
    /// The reads that it shows.
    pub(crate) reads: Option<PreparedReads>,
    /// How it is mounted: as what lies behind it, nothing more is allowed (nosuid, noexec, ...).
    pub flags: MountFlags,
}

/// What has to be mounted, in this order.
#[derive(Debug)]
pub struct OvermountPlan {
    /// Directories to serve, outer ones first.
    pub targets: Vec<OvermountTarget>,
    /// Mounts of the system's own (proc, sysfs) below them, to be shown as they are.
    pub shown: Vec<(PathBuf, OwnedFd)>,
    /// Folders in them in whose places directories of tiers are shown.
    pub folders: Vec<crate::tiers::FolderOnTier>,
    /// The kernel checks permissions also where their owner alone looks in: nobody else does.
    pub kernel_checks: bool,
}

/// A directory that can't be managed, and why.
#[derive(Debug)]
pub struct RefusedDirectory {
    /// Which.
    pub path: PathBuf,
    /// It is attached to one that was asked for.
    pub attached: bool,
    /// The system's word.
    pub error: io::Error,
}

/// Finds out what covering `directories` takes, submounts included; `ways` lead to buckets that are
/// attached to them.
///
/// # Errors
/// The first directory that is missing, no directory, the root, or not readable for this user.
pub fn plan_mounts(
    directories: &[PathBuf],
    ways: &BucketAccess,
) -> Result<OvermountPlan, RefusedDirectory> {
    let mut plan = OvermountPlan {
        targets: Vec::new(),
        shown: Vec::new(),
        folders: Vec::new(),
        kernel_checks: false,
    };
    let all = current_mounts().unwrap_or_default();
    let mut wanted = Vec::new();
    for path in directories {
        let refuse = |error| RefusedDirectory { path: path.clone(), attached: false, error };
        let real = resolve_path(path).map_err(refuse)?;
        if real == Path::new("/") {
            return Err(refuse(io::Error::other("the root directory can't be managed")));
        }
        wanted.push(real);
    }
    wanted.sort();
    // What lies in another wanted directory on the same file system is covered with it.
    let mut roots: Vec<PathBuf> = Vec::new();
    for path in wanted {
        if !roots.iter().any(|root| path.starts_with(root)) {
            roots.push(path);
        }
    }
    let mut submounts = 0;
    for root in roots {
        let refuse = |error| RefusedDirectory { path: root.clone(), attached: false, error };
        plan.targets
            .push(OvermountTarget { asked: true, ..open_target(&root, &all).map_err(refuse)? });
        let mut below: Vec<&MountEntry> =
            all.iter().filter(|m| m.point != root && m.point.starts_with(&root)).collect();
        below.sort_by(|a, b| a.point.cmp(&b.point));
        below.dedup_by(|a, b| a.point == b.point);
        for mount in below {
            if mount.shows_kernel_state() {
                if let Ok(fd) = open_resolved_directory(&mount.point) {
                    plan.shown.push((mount.point.clone(), fd));
                }
            } else if mount.point.is_dir() && submounts < MOST_SUBMOUNTS {
                // One that can't be opened stays visible through the directory that holds it.
                if let Ok(target) = open_target(&mount.point, &all) {
                    submounts += 1;
                    plan.targets.push(target);
                }
            }
        }
        plan.targets.extend(attached::attached_targets(&root, &all, ways)?);
    }
    Ok(plan)
}

impl OvermountPlan {
    /// Shows what lies below `from` at `to` instead.
    pub(crate) fn move_to(&mut self, from: &Path, to: &Path) {
        let points = self.targets.iter_mut().map(|target| &mut target.point);
        for point in points.chain(self.shown.iter_mut().map(|(point, _)| point)) {
            if let Ok(rest) = point.strip_prefix(from) {
                // `join` with nothing would add a slash.
                let moved = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
                *point = moved;
            }
        }
    }
}

fn open_target(path: &Path, all: &[MountEntry]) -> io::Result<OvermountTarget> {
    let root = open_resolved_directory(path)?;
    let mut fs = file_system_kind(&root)?;
    let mount =
        all.iter().filter(|m| path.starts_with(&m.point)).max_by_key(|m| m.point.as_os_str().len());
    if let Some(mount) = mount {
        fs.name = mount.kind.clone();
    }
    let source = mount.map(|m| m.source.clone());
    let has = rustix::fs::fstatvfs(&root)?.f_flag;
    let kept = [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    let flags =
        kept.into_iter().filter(|(is, _)| has.contains(*is)).map(|(_, flag)| flag).collect();
    let path = path.to_owned();
    let (point, asked, attached, lent, reads) = (path.clone(), false, None, None, None);
    Ok(OvermountTarget { path, point, root, fs, source, asked, attached, lent, reads, flags })
}

/// The directory over which a target is mounted, as it is now.
///
/// # Errors
/// The system's; a link, or another directory, has come to be in its place.
fn open_mount_point(target: &OvermountTarget) -> io::Result<OwnedFd> {
    if let Some(at) = &target.attached {
        return attached::open_attached_point(target, at);
    }
    let point = open_resolved_directory(&target.point)?;
    let in_place = target.asked && target.point == target.path;
    if in_place && device_and_inode(&point)? != device_and_inode(&target.root)? {
        return Err(io::Error::other("another directory has come to be in its place"));
    }
    Ok(point)
}

fn device_and_inode(file: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = rustix::fs::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}
