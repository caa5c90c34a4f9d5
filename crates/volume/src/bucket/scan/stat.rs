//! What the file system says of a name, in the words of the log.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, readlinkat, statx};
use rustix::path::Arg;

use super::super::tree_record::{Attr, Kind};
use super::Result;
use super::scan_result::time_from_statx;

pub(super) fn statx_at(fd: &OwnedFd, name: impl Arg) -> Result<Statx> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
    statx(fd.as_fd(), name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)
}

pub(super) fn attr_from_statx(stat: &Statx) -> Attr {
    let mode = u32::from(stat.stx_mode) & 0o7777;
    Attr { mode, uid: stat.stx_uid, gid: stat.stx_gid, mtime: time_from_statx(&stat.stx_mtime) }
}

pub(super) fn read_file_kind(fd: &OwnedFd, name: &CStr, stat: &Statx) -> Result<Kind> {
    let mode = u32::from(stat.stx_mode);
    Ok(match FileType::from_raw_mode(mode) {
        FileType::Directory => Kind::Folder,
        FileType::RegularFile => Kind::Plain,
        FileType::Symlink => Kind::Link(readlinkat(fd, name, Vec::new())?.into_bytes()),
        _ => {
            let device = rustix::fs::makedev(stat.stx_rdev_major, stat.stx_rdev_minor);
            Kind::Special { mode: mode & libc::S_IFMT, device }
        }
    })
}
