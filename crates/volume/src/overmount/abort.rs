//! The end of a connection whose daemon can't answer any more. The kernel ends it by itself when all
//! of the daemon is gone; but a thread of it that waits in the kernel for whoever waits for the daemon
//! is never gone, and neither are those, whatever signal they get.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, UnmountFlags, fsconfig_create, fsmount, fsopen,
    unmount,
};
use rustix::process::geteuid;
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};

use super::KIND;
use super::mounts::mounts_of_process;

/// Where the kernel shows its connections to whoever mounted them.
const CONNECTIONS: &str = "/sys/fs/fuse/connections";

/// Opens what ends the connection of the mount with this minor device number; it never ends another
/// that gets the number later.
///
/// # Errors
/// Where the kernel's files are not shown, and this is not root; where there is no such mount.
pub(crate) fn open_abort(minor: u32) -> io::Result<OwnedFd> {
    let name = format!("{minor}/abort");
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat(CWD, format!("{CONNECTIONS}/{name}"), flags, Mode::empty()) {
        Err(Errno::NOENT) if geteuid().is_root() => {
            let fs = fsopen("fusectl", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(fs.as_fd())?;
            let shown =
                fsmount(fs.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
            Ok(openat(shown, name, flags, Mode::empty())?)
        }
        opened => Ok(opened?),
    }
}

/// Ends the connection: who waits for it, or asks later, is told that it is gone.
///
/// # Errors
/// The kernel's.
pub(crate) fn abort_connection(control: &OwnedFd) -> io::Result<()> {
    Ok(rustix::io::write(control, b"1\n").map(drop)?)
}

/// Ends connections from within: goes into the namespace of a process that has their mounts, where
/// an ordinary user may do with them what root may. For a process with one thread that has nothing
/// else to do, for there is no way back.
pub(crate) fn abort_in_namespace(minors: &[u32]) {
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let process = entry.path();
        let points = our_mount_points(&process, minors);
        if !points.is_empty() && enter_namespaces_of(&process).is_ok() {
            for point in points {
                if let Ok(point) = CString::new(point.as_os_str().as_bytes()) {
                    // It ends the connection before it finds that the mount is in use.
                    let _ = unmount(point.as_c_str(), UnmountFlags::FORCE | UnmountFlags::NOFOLLOW);
                }
            }
            return;
        }
    }
}

/// Where a process sees our mounts with these numbers, outer ones first.
fn our_mount_points(process: &Path, minors: &[u32]) -> Vec<PathBuf> {
    let is_process = process.file_name().is_some_and(|name| name.as_bytes()[0].is_ascii_digit());
    let all = is_process.then(|| mounts_of_process(process).ok()).flatten().unwrap_or_default();
    let ours = all
        .into_iter()
        .filter(|mount| mount.kind == KIND && minors.iter().any(|one| mount.device == (0, *one)));
    ours.map(|mount| mount.point).collect()
}

fn enter_namespaces_of(process: &Path) -> io::Result<()> {
    let open = |kind: &str| {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        openat(CWD, process.join("ns").join(kind), flags, Mode::empty())
    };
    let (users, mounts) = (open("user")?, open("mnt")?);
    // Fails where it is ours already.
    let _ = move_into_thread_name_spaces(users.as_fd(), ThreadNameSpaceType::USER);
    Ok(move_into_thread_name_spaces(mounts.as_fd(), ThreadNameSpaceType::MOUNT)?)
}
