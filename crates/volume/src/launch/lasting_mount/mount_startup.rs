//! From a daemon that is about to serve to a volume that can be used.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use super::super::shared::{Failure, system_failure};
use super::super::{Channel, Rescue, ToDaemon, ToFront};
use crate::overmount::{self, Access};

/// Makes the mounts, and waits until they can be used.
pub(super) fn mount_and_await(
    plan: &overmount::Plan,
    volume: &std::path::Path,
    access: Access,
    mounts: &OwnedFd,
    control: &Channel,
    rescue: &Rescue,
) -> Result<Vec<PathBuf>, Failure> {
    // It opens by paths what it needs, and a mount must not be in the way of that.
    await_daemon(mounts, control)?;
    let made = overmount::Lasting::mount_all(plan, volume, access, mounts.as_fd());
    let made = made.map_err(|closed| Failure::Closed(closed.step, closed.error))?;
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
    plan: &overmount::Plan,
    mounts: &OwnedFd,
    control: &Channel,
    rescue: &Rescue,
) -> Result<(), Failure> {
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
    match control.receive_message::<ToFront>() {
        Some(ToFront::Ready) => Ok(()),
        Some(ToFront::Failed { why }) => Err(Failure::System(why, io::Error::other("failed"))),
        _ => Err(Failure::System("waiting for the daemon".into(), io::Error::other("it is gone"))),
    }
}

/// Waits for a sign of the daemon's.
fn await_daemon(mounts: &OwnedFd, control: &Channel) -> Result<(), Failure> {
    let mut sign = [0u8; 1];
    if matches!(rustix::io::read(mounts, &mut sign), Ok(1)) {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(libc::EPIPE);
    Err(match control.receive_message::<ToFront>() {
        Some(ToFront::Failed { why }) => Failure::System(why, error),
        _ => Failure::System("waiting for the daemon".into(), error),
    })
}
