//! The way in: a mount namespace of its own for the command's side, and for an ordinary user a
//! user namespace in which they keep their own number (user_namespaces(7)).

use std::ffi::CString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{fchdir, getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::OvermountPlan;
use super::namespace_steps::{NamespaceError, at_step, self_fd_path};
use super::whole_folders::{bind_folders, open_sources};
use crate::fuse::open_device;
use forebay_os::real_path::open_resolved_directory;

/// Goes where the covered directories are covered: for the process that will run the command,
/// before it has threads. Each mount's descriptor is handed over `daemon`; `served` is told the device
/// number of each as soon as it is served.
///
/// # Errors
/// The step that failed; nothing is left mounted, for the namespace dies with this process.
pub(crate) fn enter_namespace(
    plan: &OvermountPlan,
    cwd: &Path,
    daemon: BorrowedFd<'_>,
    served: &mut dyn FnMut(u64),
) -> Result<(), NamespaceError> {
    let root = geteuid().is_root();
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let flags =
        if root { UnshareFlags::NEWNS } else { UnshareFlags::NEWNS | UnshareFlags::NEWUSER };
    // SAFETY: this process has one thread, and shares no descriptors table.
    unsafe { unshare_unsafe(flags) }.map_err(at_step("making a private mount namespace"))?;
    if !root {
        // The identity: files keep their owner in both directions.
        let write = |file: &str, text: String| {
            std::fs::write(file, text).map_err(at_step(format!("writing {file}")))
        };
        write("/proc/self/setgroups", "deny".into())?;
        write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
        write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    }
    // Nothing that we mount may travel back to where we came from. What is mounted and unmounted
    // there from now on is so here, or our copies would keep file systems that others gave up. What
    // comes to lie at a point of ours goes below ours: the kernel tucks it in.
    let one_way = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
    mount_change("/", one_way).map_err(at_step("keeping our mounts to ourselves"))?;
    let folders = open_sources(plan)?;
    for (number, target) in plan.targets.iter().enumerate() {
        let device = open_device().map_err(at_step("opening /dev/fuse"))?;
        let others = if root { ",allow_other,default_permissions" } else { "" };
        let options = format!(
            "fd={},rootmode=40000,user_id={uid},group_id={gid}{others}",
            device.as_raw_fd()
        );
        let options = CString::new(options).expect("numbers hold no NUL");
        let step = format!("mounting over {}", target.point.display());
        let mut flags = target.flags;
        if !root {
            flags |= MountFlags::NOSUID | MountFlags::NODEV;
        }
        let point = super::open_mount_point(target).map_err(at_step(step.as_str()))?;
        mount("forebay", self_fd_path(&point), "fuse.forebay", flags, options.as_c_str())
            .map_err(at_step(step))?;
        send_descriptor(daemon, number as u32, Some(device.as_fd()))
            .map_err(at_step("telling the daemon"))?;
    }
    for (path, fd) in &plan.shown {
        // What can't be shown natively stays visible through the mount that covers it.
        if let Err(error) = mount_bind(self_fd_path(fd), path) {
            tracing::debug!("{} is shown through the cover: {error}", path.display());
        }
    }
    // Until it was asked, the kernel takes the root of a mount for root's own and lets nobody write.
    for target in &plan.targets {
        let root = rustix::fs::stat(&target.point)
            .map_err(at_step(format!("reaching {}", target.point.display())))?;
        served(root.st_dev);
    }
    bind_folders(plan, &folders)?;
    // Without this, `.` would still be the bare directory.
    open_resolved_directory(cwd)
        .and_then(|dir| Ok(fchdir(dir)?))
        .map_err(at_step(format!("going back to {}", cwd.display())))?;
    send_descriptor(daemon, END, None).map_err(at_step("telling the daemon"))
}

/// The number that ends the hand-over.
pub(super) const END: u32 = u32::MAX;

pub(crate) fn send_descriptor(
    daemon: BorrowedFd<'_>,
    number: u32,
    fd: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let message = number.to_le_bytes();
    let fds = fd.as_slice();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    sendmsg(daemon, &[IoSlice::new(&message)], &mut control, SendFlags::empty())?;
    Ok(())
}

/// What came over the hand-over socket.
#[derive(Debug)]
pub enum Handover {
    /// The mount of a target, by its place in the plan.
    Mounted(usize, OwnedFd),
    /// All are made.
    Complete,
    /// The command's side went away before the end.
    Gone,
}

/// Waits for the next mount, on the daemon's side.
///
/// # Errors
/// Those of recvmsg(2).
pub fn receive_mount(from: BorrowedFd<'_>) -> io::Result<Handover> {
    let (number, fd) = receive_descriptor(from)?;
    let Some(number) = number else { return Ok(Handover::Gone) };
    match (number, fd) {
        (END, _) => Ok(Handover::Complete),
        (number, Some(fd)) => Ok(Handover::Mounted(number as usize, fd)),
        _ => Err(io::Error::other("a mount came without its descriptor")),
    }
}

/// Receives what was handed over: a number, `None` if the other side is gone, and a descriptor.
pub(crate) fn receive_descriptor(
    from: BorrowedFd<'_>,
) -> io::Result<(Option<u32>, Option<OwnedFd>)> {
    let (message, fd) = receive_message::<4>(from)?;
    Ok((message.map(u32::from_le_bytes), fd))
}

/// Receives a message of `N` bytes, `None` if it is shorter, and a descriptor if one came with it.
pub(super) fn receive_message<const N: usize>(
    from: BorrowedFd<'_>,
) -> io::Result<(Option<[u8; N]>, Option<OwnedFd>)> {
    let mut message = [0u8; N];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let got = recvmsg(from, &mut [IoSliceMut::new(&mut message)], &mut control, flags)?;
    let fd = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok(((got.bytes == N).then_some(message), fd))
}
