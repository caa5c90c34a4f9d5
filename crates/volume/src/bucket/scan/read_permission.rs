//! Files of an ordinary user that not even their owner may read (mode 000, say): the owner is lent
//! a permission for the moment in which they are looked at, while nobody changes a mode. Root needs
//! none.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, chmodat, openat};
use rustix::path::Arg;

use super::stat::statx_at;
use super::{INTO, Result};
use forebay_os::file_identity::proc_fd_path;

/// A permission that was lent; it is taken back when this goes.
#[derive(Debug)]
pub(crate) struct LentReadPermission {
    file: OwnedFd,
    mode: Mode,
}

impl LentReadPermission {
    /// Lends what is missing to read a file, or a folder and what is in it. `None`: nothing is
    /// missing, or it is not this user's to lend.
    pub(crate) fn grant_read_access(
        folder: &OwnedFd,
        name: impl Arg + Copy,
    ) -> Option<LentReadPermission> {
        let user = rustix::process::geteuid();
        if user.is_root() {
            return None;
        }
        let stat = statx_at(folder, name).ok()?;
        let mode = Mode::from_raw_mode(u32::from(stat.stx_mode) & 0o7777);
        let needed = match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::RegularFile => Mode::RUSR,
            FileType::Directory => Mode::RUSR | Mode::XUSR,
            _ => return None,
        };
        if user.as_raw() != stat.stx_uid || mode.contains(needed) {
            return None;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name, flags, Mode::empty()).ok()?;
        chmodat(CWD, proc_fd_path(file.as_fd()), mode | needed, AtFlags::empty()).ok()?;
        Some(LentReadPermission { file, mode })
    }
}

impl Drop for LentReadPermission {
    fn drop(&mut self) {
        let path = proc_fd_path(self.file.as_fd());
        if let Err(error) = chmodat(CWD, &path, self.mode, AtFlags::empty()) {
            tracing::error!("{path:?} keeps a permission that was lent: {error}");
        }
    }
}

/// Opens a folder, whatever its mode is.
///
/// # Errors
/// Those of the file system.
pub(crate) fn open_directory_at(
    folder: &OwnedFd,
    name: impl Arg + Copy,
) -> Result<(OwnedFd, Option<LentReadPermission>)> {
    let lent = LentReadPermission::grant_read_access(folder, name);
    Ok((openat(folder, name, INTO, Mode::empty())?, lent))
}
