//! From a daemon that is about to serve to a volume that can be used.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use super::super::shared::{LaunchError, system_failure};
use super::super::{Channel, RescuerHandle, ToDaemon, ToLauncher};
use crate::overmount::{self, MountAccess};

/// Makes the mounts, and waits until they can be used.
pub(super) fn mount_and_await(
    plan: &overmount::OvermountPlan,
    volume: &std::path::Path,
    access: MountAccess,
    mounts: &OwnedFd,
    control: &Channel,
    rescue: &RescuerHandle,
) -> Result<Vec<PathBuf>, LaunchError> {
    // It opens by paths what it needs, and a mount must not be in the way of that.
    await_daemon(mounts, control)?;
    let made = overmount::MountGuard::mount_all(plan, volume, access, mounts.as_fd());
    let made = made.map_err(|closed| LaunchError::Closed(closed.step, closed.error))?;
    match await_ready(plan, mounts, control, rescue) {
        Ok(()) => Ok(made.into_points()),
        Err(failure) => {
            // Before the mounts go, which would be taken for the end of a mount that was used.
            control.send_message(&ToDaemon::NotRun);
            Err(failure)
        }
    }
}

fn await_ready(
    plan: &overmount::OvermountPlan,
    mounts: &OwnedFd,
    control: &Channel,
    rescue: &RescuerHandle,
) -> Result<(), LaunchError> {
    await_daemon(mounts, control)?;
    let mut device = None;
    for target in &plan.targets {
        // Until it was asked, the kernel takes the root of a mount for root's own.
        let step = format!("reaching {}", target.point.display());
        let stat = rustix::fs::stat(&target.point).map_err(system_failure(&step))?;
        rescue.register_mount(stat.st_dev);
        device = device.or(Some((libc::major(stat.st_dev), libc::minor(stat.st_dev))));
    }
    rescue.end_registration();
    let (major, minor) = device.unwrap_or_default();
    control.send_message(&ToDaemon::Mounted { major, minor });
    match control.receive_message::<ToLauncher>() {
        Some(ToLauncher::Ready) => Ok(()),
        Some(ToLauncher::Failed { why }) => {
            Err(LaunchError::System(why, io::Error::other("failed")))
        }
        _ => Err(LaunchError::System(
            "waiting for the daemon".into(),
            io::Error::other("it is gone"),
        )),
    }
}

/// Waits for a sign of the daemon's.
fn await_daemon(mounts: &OwnedFd, control: &Channel) -> Result<(), LaunchError> {
    let mut sign = [0u8; 1];
    if matches!(rustix::io::read(mounts, &mut sign), Ok(1)) {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(libc::EPIPE);
    Err(match control.receive_message::<ToLauncher>() {
        Some(ToLauncher::Failed { why }) => LaunchError::System(why, error),
        _ => LaunchError::System("waiting for the daemon".into(), error),
    })
}
