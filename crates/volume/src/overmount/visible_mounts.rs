//! Mounts that everybody on the machine sees, until somebody unmounts them: made by root directly,
//! and for an ordinary user by fusermount3, which may.

mod helper;

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{getegid, geteuid};

use super::namespace::{END, send_descriptor};
use super::namespace_steps::{at_step, self_fd_path};
use super::{NamespaceError, OvermountPlan};
use crate::fuse::open_device;

/// The type that our mounts have in the mount table.
pub(crate) const KIND: &str = "fuse.forebay";

/// Why an ordinary user's mount can't show what is attached; the command line knows this word.
pub const ALONE: &str =
    "what is attached can be shown by an ordinary user's mount only if root may look into it";

/// Who may use a lasting mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountAccess {
    /// Whoever mounted it.
    Owner,
    /// They and root: for services such as dockerd that act for them.
    Root,
    /// Everybody, as the permissions of files allow.
    Everybody,
}

/// Mounts made so far. Dropped, they are taken away again.
#[derive(Debug, Default)]
pub(crate) struct MountGuard {
    points: Vec<PathBuf>,
}

impl MountGuard {
    /// Mounts everything of `plan`; each mount's descriptor is handed over `daemon`.
    /// `name` stands for the device in the mount table.
    ///
    /// # Errors
    /// The step that failed; nothing is left mounted.
    pub(crate) fn mount_all(
        plan: &OvermountPlan,
        name: &Path,
        access: MountAccess,
        daemon: BorrowedFd<'_>,
    ) -> Result<MountGuard, NamespaceError> {
        let mut lasting = MountGuard::default();
        for (number, target) in plan.targets.iter().enumerate() {
            let step = || format!("mounting at {}", target.point.display());
            // The helper is root and must reach what lies inside the first mount, which lets only
            // its owner in. A mount below the volume is seen through the first one.
            if number > 0 && access == MountAccess::Owner && !geteuid().is_root() {
                if target.attached.is_none() {
                    continue;
                }
                return Err(at_step(step())(io::Error::other(ALONE)));
            }
            let device = match geteuid().is_root() {
                true => super::open_mount_point(target)
                    .and_then(|point| mount_as_root(&point, name, access, target.flags)),
                false => {
                    let checks = plan.kernel_checks;
                    helper::mount_by_helper(&target.point, name, (access, checks), target.flags)
                }
            };
            let device = device.map_err(at_step(step()))?;
            lasting.points.push(target.point.clone());
            let handed = send_descriptor(daemon, number as u32, Some(device.as_fd()));
            handed.map_err(at_step("telling the daemon"))?;
        }
        send_descriptor(daemon, END, None).map_err(at_step("telling the daemon"))?;
        Ok(lasting)
    }

    /// They stay; tells where they are, outer ones first.
    pub(crate) fn into_points(mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.points)
    }
}

impl Drop for MountGuard {
    fn drop(&mut self) {
        unmount_all(&self.points);
    }
}

/// Takes mounts away, inner ones first; whoever uses them keeps them until they are done. What
/// lies at a point now may be somebody else's: a storage that was mounted before, or since.
pub(crate) fn unmount_all(points: &[PathBuf]) {
    for point in points.iter().rev() {
        let all = super::current_mounts().unwrap_or_default();
        let topmost = all.iter().rfind(|mount| mount.point == *point);
        if topmost.is_some_and(|mount| mount.kind == KIND) {
            // Somebody else may have taken it away meanwhile.
            let _ = unmount_at(point, true);
        }
    }
}

fn mount_as_root(
    point: &OwnedFd,
    name: &Path,
    access: MountAccess,
    flags: MountFlags,
) -> io::Result<OwnedFd> {
    let device = open_device()?;
    let others = if access == MountAccess::Owner { "" } else { ",allow_other" };
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let options = format!(
        "fd={},rootmode=40000,user_id={uid},group_id={gid},default_permissions{others}",
        device.as_raw_fd()
    );
    let options = CString::new(options).expect("numbers hold no NUL");
    mount(name, self_fd_path(point), KIND, flags, options.as_c_str())?;
    Ok(device)
}

/// Takes one mount away; with `lazy`, its users keep it until they are done.
///
/// # Errors
/// The system's: it is in use, it is another user's.
pub fn unmount_at(point: &Path, lazy: bool) -> io::Result<()> {
    if geteuid().is_root() {
        let mut flags = UnmountFlags::NOFOLLOW;
        if lazy {
            flags |= UnmountFlags::DETACH;
        }
        return Ok(unmount(point, flags)?);
    }
    helper::unmount_by_helper(point, lazy)
}
