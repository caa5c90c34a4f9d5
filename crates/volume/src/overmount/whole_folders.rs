//! Showing a directory of a tier in the place of a folder: a bind mount (mount_namespaces(7)) that
//! only the run sees.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{StatVfsMountFlags, fstatvfs};
use rustix::mount::{MountFlags, mount_bind, mount_remount};

use super::namespace_steps::{NamespaceError, at_step, self_fd_path};
use super::{OvermountPlan, OvermountTarget};
use forebay_os::real_path::open_resolved_directory;

/// What a mount keeps of the one that it shows: an ordinary user may take nothing of it away.
const KEPT: [(StatVfsMountFlags, MountFlags); 7] = [
    (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
    (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
    (StatVfsMountFlags::NODEV, MountFlags::NODEV),
    (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
    (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
    (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
];

/// Opens the directories on tiers, in the new namespace and before anything in it is covered.
///
/// # Errors
/// The first that is not there.
pub(super) fn open_sources(plan: &OvermountPlan) -> Result<Vec<OwnedFd>, NamespaceError> {
    let open = |folder: &crate::tiers::FolderOnTier| {
        open_resolved_directory(&folder.directory)
            .map_err(at_step(format!("opening {}", folder.directory.display())))
    };
    plan.folders.iter().map(open).collect()
}

/// Shows them in the places of the folders, once what covers these is served.
///
/// # Errors
/// The first that can't be shown.
pub(super) fn bind_folders(
    plan: &OvermountPlan,
    sources: &[OwnedFd],
) -> Result<(), NamespaceError> {
    for (folder, source) in plan.folders.iter().zip(sources) {
        let target = plan.targets.iter().filter(|target| folder.point.starts_with(&target.point));
        let around = target.max_by_key(|target| target.point.as_os_str().len());
        let bind = || -> io::Result<()> {
            let point = open_resolved_directory(&folder.point)?;
            mount_bind(self_fd_path(source), self_fd_path(&point))?;
            withhold_as(around, source, &open_resolved_directory(&folder.point)?)
        };
        bind().map_err(at_step(format!("showing a tier at {}", folder.point.display())))?;
    }
    Ok(())
}

/// Programs and devices count in a whole folder only where they count around it.
fn withhold_as(
    around: Option<&OvermountTarget>,
    source: &OwnedFd,
    shown: &OwnedFd,
) -> io::Result<()> {
    let wanted = around.map_or(MountFlags::empty(), |target| target.flags);
    let has = fstatvfs(source)?.f_flag;
    let kept = KEPT.into_iter().filter(|(is, _)| has.contains(*is)).map(|(_, flag)| flag);
    let kept: MountFlags = kept.collect();
    if !kept.contains(wanted) {
        mount_remount(self_fd_path(shown), MountFlags::BIND | kept | wanted, c"")?;
    }
    Ok(())
}
