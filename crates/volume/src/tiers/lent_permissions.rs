//! Directories that are closed to their owner (mode 555, 000) and whose files come home all the same:
//! they are opened for a moment, and are as they were afterwards.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, Statx, chmodat};
use rustix::process::geteuid;

use super::beneath::hold_directory;
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};

/// A directory that its owner may use for a moment; dropped, it is as it was.
pub(super) struct LentDirectoryPermission {
    dir: OwnedFd,
    mode: Mode,
}

impl Drop for LentDirectoryPermission {
    fn drop(&mut self) {
        if let Err(error) = change_mode(self.dir.as_fd(), self.mode) {
            tracing::error!("a directory keeps the permission that was lent to it: {error}");
        }
    }
}

/// Lets this user, whose directory it is, do more in it; `None` where that is so already, or is
/// for somebody else to say.
pub(super) fn lend_permissions(
    dir: BorrowedFd<'_>,
    stat: &Statx,
    wanted: Mode,
) -> Option<LentDirectoryPermission> {
    let mode = Mode::from_raw_mode(u32::from(stat.stx_mode) & 0o7777);
    if mode.contains(wanted) || stat.stx_uid != geteuid().as_raw() {
        return None;
    }
    let dir = rustix::io::fcntl_dupfd_cloexec(dir, 0).ok()?;
    change_mode(dir.as_fd(), mode | wanted).ok()?;
    Some(LentDirectoryPermission { dir, mode })
}

/// The same with all that is closed on the way to a file, and with its directory.
pub(super) fn lend_permissions_on_path(
    root: &OwnedFd,
    path: &Path,
) -> Vec<LentDirectoryPermission> {
    let mut opened = Vec::new();
    let Ok(mut dir) = hold_directory(root, OsStr::new(".")) else { return opened };
    let parts = path.parent().unwrap_or(Path::new("")).components();
    let names = parts.filter_map(|part| match part {
        Component::Normal(name) => Some(Some(name)),
        _ => None,
    });
    // One more step than names: the last directory, too.
    for name in names.chain([None]) {
        let stat = statx_nofollow(dir.as_fd(), c"");
        opened.extend(stat.ok().and_then(|stat| lend_permissions(dir.as_fd(), &stat, Mode::RWXU)));
        let Some(Ok(next)) = name.map(|name| hold_directory(&dir, name)) else { break };
        dir = next;
    }
    opened
}

/// By a path, for the descriptor may be one that reads nothing.
fn change_mode(dir: BorrowedFd<'_>, mode: Mode) -> Result<(), rustix::io::Errno> {
    chmodat(CWD, proc_fd_path(dir), mode, AtFlags::empty())
}
