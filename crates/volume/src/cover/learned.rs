//! What was learned of files that are attached to a volume: an index for each place where some are
//! shown, in a folder of Forebay's own in the volume. It has some text of reads, so nobody else may
//! read it; and it counts only for whoever wrote it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::attached::{is_mine, own_folder};
use crate::bucket::folder_of;
use crate::tiers::{OWN, make_own};

const FOLDER: &str = "attached";
const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The index for what is shown at a place, in its folder.
fn name(at: &Path) -> String {
    format!("{}.fbx", folder_of(&at.to_string_lossy()))
}

/// The same for people.
pub(crate) fn learned_path(volume: &Path, at: &Path) -> PathBuf {
    volume.join(OWN).join(FOLDER).join(name(at))
}

fn folder(volume: &Path) -> io::Result<OwnedFd> {
    let own = own_folder(volume)?.ok_or(io::ErrorKind::NotFound)?;
    let folder = openat(&own, FOLDER, DIRECTORY, Mode::empty())?;
    match is_mine(&folder)? {
        true => Ok(folder),
        false => Err(io::Error::other("another user made the folder .forebay/attached there")),
    }
}

/// Opens an index to read it.
///
/// # Errors
/// The system's; it is not this user's.
pub(crate) fn open_learned(volume: &Path, at: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder(volume)?, name(at), flags, Mode::empty())?;
    match is_mine(&file)? {
        true => Ok(File::from(file)),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Puts an index that `write` writes in the place of any before it, whole or not at all.
///
/// # Errors
/// The system's, or those of `write`.
pub(crate) fn put_learned<R, E: From<io::Error>>(
    volume: &Path,
    at: &Path,
    write: impl FnOnce(&mut File) -> Result<R, E>,
) -> Result<R, E> {
    make_own(&volume.join(OWN))?;
    let own = own_folder(volume)?
        .ok_or_else(|| io::Error::other("another user made the folder .forebay there"))?;
    match mkdirat(&own, FOLDER, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let folder = folder(volume)?;
    let name = name(at);
    let fresh = format!("{name}.{}", std::process::id());
    let _ = unlinkat(&folder, fresh.as_str(), AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(&folder, fresh.as_str(), flags, Mode::RUSR | Mode::WUSR);
    let mut file = File::from(file.map_err(io::Error::from)?);
    let written = write(&mut file).and_then(|done| {
        file.sync_all()?;
        renameat(&folder, fresh.as_str(), &folder, name.as_str()).map_err(io::Error::from)?;
        Ok(done)
    });
    if written.is_err() {
        let _ = unlinkat(&folder, fresh.as_str(), AtFlags::empty());
    }
    written
}

/// Takes an index away, if there is one.
pub fn forget_learned(volume: &Path, at: &Path) {
    let Ok(folder) = folder(volume) else { return };
    let _ = unlinkat(&folder, name(at).as_str(), AtFlags::empty());
    if let Ok(Some(own)) = own_folder(volume) {
        // One that others are in stays.
        let _ = unlinkat(&own, FOLDER, AtFlags::REMOVEDIR);
    }
}
