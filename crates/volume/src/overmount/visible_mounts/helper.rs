//! fusermount3, which mounts for ordinary users: its options, its socket, its complaints.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::mount::MountFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::MountAccess;
use crate::overmount::receive_message;

/// The helper that mounts for those who may not; it comes with FUSE.
const HELPER: &str = "fusermount3";

/// fusermount3 sends the descriptor over the socket that `_FUSE_COMMFD` names (fusermount3(1)).
pub(super) fn mount_by_helper(
    point: &Path,
    name: &Path,
    (access, kernel_checks): (MountAccess, bool),
    flags: MountFlags,
) -> io::Result<OwnedFd> {
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    let mut options = OsString::from("subtype=forebay,fsname=");
    for byte in name.as_os_str().as_bytes() {
        if matches!(byte, b',' | b'\\') {
            options.push("\\");
        }
        options.push(OsStr::from_bytes(&[*byte]));
    }
    if access != MountAccess::Owner {
        options.push(",allow_other");
    }
    if access != MountAccess::Owner || kernel_checks {
        options.push(",default_permissions");
    }
    for (flag, word) in [(MountFlags::RDONLY, ",ro"), (MountFlags::NOEXEC, ",noexec")] {
        if flags.contains(flag) {
            options.push(word);
        }
    }
    let done = Command::new(HELPER)
        .arg("-o")
        .arg(options)
        .arg("--")
        .arg(point)
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .output()
        .map_err(helper_missing)?;
    drop(theirs);
    if !done.status.success() {
        return Err(helper_error(&done.stderr));
    }
    let (_, device) = receive_message::<1>(ours.as_fd())?;
    device.ok_or_else(|| io::Error::other("fusermount3 mounted nothing"))
}

fn helper_missing(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), "fusermount3 is not installed (package fuse3)")
        }
        _ => error,
    }
}

/// What the helper complained of.
fn helper_error(stderr: &[u8]) -> io::Error {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("fusermount3 failed");
    let busy = line.contains("busy");
    let line = line.trim_start_matches("fusermount3: ");
    let kind = if busy { io::ErrorKind::ResourceBusy } else { io::ErrorKind::Other };
    io::Error::new(kind, line.to_owned())
}

/// Takes a mount away.
pub(super) fn unmount_by_helper(point: &Path, lazy: bool) -> io::Result<()> {
    let mut helper = Command::new(HELPER);
    helper.arg("-u");
    if lazy {
        helper.arg("-z");
    }
    let done = helper.arg("--").arg(point).stdin(Stdio::null()).output().map_err(helper_missing)?;
    if done.status.success() { Ok(()) } else { Err(helper_error(&done.stderr)) }
}

#[cfg(test)]
mod tests {
    //! A busy mount must be told from one that failed otherwise.
    use super::*;

    #[test]
    fn the_helpers_words_are_understood() {
        let busy =
            helper_error(b"fusermount3: failed to unmount /mnt: Device or resource busy\n\n");
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(busy.to_string(), "failed to unmount /mnt: Device or resource busy");
        assert_eq!(helper_error(b"").to_string(), "fusermount3 failed");
    }
}
