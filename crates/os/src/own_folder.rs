//! The folder that Forebay keeps its own in, in each directory that it manages: `.forebay`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

/// Its name.
pub const OWN: &str = ".forebay";

const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Makes it, if need be; it keeps itself out of version control.
///
/// # Errors
/// The system's.
pub fn create_own_folder(own: &Path) -> io::Result<()> {
    match fs::create_dir(own) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, own, flags, Mode::empty())?;
    if rustix::fs::fstat(&folder)?.st_uid != rustix::process::geteuid().as_raw() {
        // Somebody else's, for whoever locks it to find out.
        return Ok(());
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    match openat(&folder, ".gitignore", flags, mode) {
        Ok(file) => File::from(file).write_all(b"*\n"),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens (`O_PATH`) that of a volume, if this user made it.
///
/// # Errors
/// The system's.
pub fn open_own_folder(volume: &Path) -> io::Result<Option<OwnedFd>> {
    match openat(CWD, volume.join(OWN), DIRECTORY, Mode::empty()) {
        Ok(own) => Ok(is_owned_exclusively(&own)?.then_some(own)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether this user made a file, and nobody else may change it.
///
/// # Errors
/// Those of fstat(2).
pub fn is_owned_exclusively(file: impl AsFd) -> io::Result<bool> {
    let stat = fstat(file)?;
    let by_others = stat.st_mode & libc::S_IFMT == libc::S_IFREG && stat.st_mode & 0o022 != 0;
    Ok(stat.st_uid == rustix::process::geteuid().as_raw() && !by_others)
}
