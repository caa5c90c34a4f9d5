//! Mounts that everybody on the machine sees, until somebody unmounts them: made by root directly,
//! and for an ordinary user by fusermount3, which may.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{getegid, geteuid};

use super::namespace::{END, at, hand_over};
use super::{Doorway, Plan, receive_one};
use crate::fuse::open_device;

/// The type that our mounts have in the mount table.
pub(crate) const KIND: &str = "fuse.forebay";

/// The helper that mounts for those who may not; it comes with FUSE.
const HELPER: &str = "fusermount3";

/// Why an ordinary user's mount can't show what is attached; the command line knows this word.
pub const ALONE: &str =
    "what is attached can be shown by an ordinary user's mount only if root may look into it";

/// Who may use a lasting mount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Whoever mounted it.
    Owner,
    /// They and root: for services such as dockerd that act for them.
    Root,
    /// Everybody, as the permissions of files allow.
    Everybody,
}

/// Mounts made so far. Dropped, they are taken away again.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    points: Vec<PathBuf>,
}

impl Lasting {
    /// Mounts everything of `plan`; each mount's descriptor is handed over `daemon`.
    /// `name` stands for the device in the mount table.
    ///
    /// # Errors
    /// The step that failed; nothing is left mounted.
    pub(crate) fn make(
        plan: &Plan,
        name: &Path,
        access: Access,
        daemon: BorrowedFd<'_>,
    ) -> Result<Lasting, Doorway> {
        let mut lasting = Lasting::default();
        for (number, target) in plan.targets.iter().enumerate() {
            let step = || format!("mounting at {}", target.point.display());
            // The helper is root and must reach what lies inside the first mount, which lets only
            // its owner in. A mount below the volume is seen through the first one.
            if number > 0 && access == Access::Owner && !geteuid().is_root() {
                if target.attached.is_none() {
                    continue;
                }
                return Err(at(step())(io::Error::other(ALONE)));
            }
            let device = match geteuid().is_root() {
                true => super::mount_point(target)
                    .and_then(|point| by_root(&point.path(), name, access, target.flags)),
                false => by_helper(&target.point, name, access, target.flags),
            };
            let device = device.map_err(at(step()))?;
            lasting.points.push(target.point.clone());
            let handed = hand_over(daemon, number as u32, Some(device.as_fd()));
            handed.map_err(at("telling the daemon"))?;
        }
        hand_over(daemon, END, None).map_err(at("telling the daemon"))?;
        Ok(lasting)
    }

    /// They stay; tells where they are, outer ones first.
    pub(crate) fn keep(mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.points)
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        take_away(&self.points);
    }
}

/// Takes mounts away, inner ones first; whoever uses them keeps them until they are done. What
/// lies at a point now may be somebody else's: a storage that was mounted before, or since.
pub(crate) fn take_away(points: &[PathBuf]) {
    for point in points.iter().rev() {
        let all = super::mounts().unwrap_or_default();
        let topmost = all.iter().rfind(|mount| mount.point == *point);
        if topmost.is_some_and(|mount| mount.kind == KIND) {
            let _ = unmount_at(point, true);
        }
    }
}

fn by_root(point: &Path, name: &Path, access: Access, flags: MountFlags) -> io::Result<OwnedFd> {
    let device = open_device()?;
    let others = if access == Access::Owner { "" } else { ",allow_other" };
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let options = format!(
        "fd={},rootmode=40000,user_id={uid},group_id={gid},default_permissions{others}",
        device.as_raw_fd()
    );
    let options = CString::new(options).expect("numbers hold no NUL");
    mount(name, point, KIND, flags, options.as_c_str())?;
    Ok(device)
}

/// fusermount3 sends the descriptor over the socket that `_FUSE_COMMFD` names (fusermount3(1)).
fn by_helper(point: &Path, name: &Path, access: Access, flags: MountFlags) -> io::Result<OwnedFd> {
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
    if access != Access::Owner {
        options.push(",allow_other,default_permissions");
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
        return Err(said(&done.stderr));
    }
    let (_, device) = receive_one::<1>(ours.as_fd())?;
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
fn said(stderr: &[u8]) -> io::Error {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("fusermount3 failed");
    let busy = line.contains("busy");
    let line = line.trim_start_matches("fusermount3: ");
    let kind = if busy { io::ErrorKind::ResourceBusy } else { io::ErrorKind::Other };
    io::Error::new(kind, line.to_owned())
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
    let mut helper = Command::new(HELPER);
    helper.arg("-u");
    if lazy {
        helper.arg("-z");
    }
    let done = helper.arg("--").arg(point).stdin(Stdio::null()).output().map_err(helper_missing)?;
    if done.status.success() { Ok(()) } else { Err(said(&done.stderr)) }
}

#[cfg(test)]
mod tests {
    //! A busy mount must be told from one that failed otherwise.
    use super::*;

    #[test]
    fn the_helpers_words_are_understood() {
        let busy = said(b"fusermount3: failed to unmount /mnt: Device or resource busy\n\n");
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
        assert_eq!(busy.to_string(), "failed to unmount /mnt: Device or resource busy");
        assert_eq!(said(b"").to_string(), "fusermount3 failed");
    }
}
