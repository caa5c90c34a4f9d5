//! What was learned of files that are attached to a volume: an index for each place where some are
//! shown, in a folder of Forebay's own in the volume. It has some text of reads, so nobody else may
//! read it; and it counts only for whoever wrote it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::bucket::directory_name_for;
use forebay_os::own_folder::{OWN, create_own_folder, is_owned_exclusively, open_own_folder};

const FOLDER: &str = "attached";
const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// To be listed or locked, which paths alone can't be.
const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A file that was not there.
const FRESH: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// What names of indexes end in; that of one that is being written goes on.
const END: &str = ".fbx";

/// The index for what is shown at a place, in its folder.
fn index_file_name(at: &Path) -> String {
    format!("{}{END}", directory_name_for(&at.to_string_lossy()))
}

/// The same for people.
pub(crate) fn learned_index_path(volume: &Path, at: &Path) -> PathBuf {
    volume.join(OWN).join(FOLDER).join(index_file_name(at))
}

fn open_index_folder(volume: &Path) -> io::Result<OwnedFd> {
    let own = open_own_folder(volume)?.ok_or(io::ErrorKind::NotFound)?;
    let folder = openat(&own, FOLDER, DIRECTORY, Mode::empty())?;
    match is_owned_exclusively(&folder)? {
        true => Ok(folder),
        false => Err(io::Error::other("another user made the folder .forebay/attached there")),
    }
}

/// Opens an index to read it.
///
/// # Errors
/// The system's; it is not this user's.
pub(crate) fn open_learned_index(volume: &Path, at: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(open_index_folder(volume)?, index_file_name(at), flags, Mode::empty())?;
    match is_owned_exclusively(&file)? {
        true => Ok(File::from(file)),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Puts an index that `write` writes in the place of any before it, whole or not at all.
///
/// # Errors
/// The system's, or those of `write`.
pub(crate) fn write_learned_index<R, E: From<io::Error>>(
    volume: &Path,
    at: &Path,
    write: impl FnOnce(&mut File) -> Result<R, E>,
) -> Result<R, E> {
    create_own_folder(&volume.join(OWN))?;
    let own = open_own_folder(volume)?
        .ok_or_else(|| io::Error::other("another user made the folder .forebay there"))?;
    match mkdirat(&own, FOLDER, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let folder = open_index_folder(volume)?;
    let name = index_file_name(at);
    let fresh = format!("{name}.{}", std::process::id());
    let mut file = {
        let _alone = lock_folder(&folder);
        remove_abandoned_files(&folder);
        let file = openat(&folder, fresh.as_str(), FRESH, Mode::RUSR | Mode::WUSR);
        let file = File::from(file.map_err(io::Error::from)?);
        // For others to see that somebody is at it. Where there are no locks, nobody sweeps either.
        let _ = file.try_lock();
        file
    };
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
pub fn remove_learned_index(volume: &Path, at: &Path) {
    let Ok(folder) = open_index_folder(volume) else { return };
    let _alone = lock_folder(&folder);
    let _ = unlinkat(&folder, index_file_name(at).as_str(), AtFlags::empty());
    remove_abandoned_files(&folder);
    if let Ok(Some(own)) = open_own_folder(volume) {
        // One that others are in stays.
        let _ = unlinkat(&own, FOLDER, AtFlags::REMOVEDIR);
    }
}

/// Keeps others from making and sweeping there until it is dropped, as far as they can be kept.
fn lock_folder(folder: &OwnedFd) -> Option<File> {
    let lock = File::from(openat(folder, ".", LISTED, Mode::empty()).ok()?);
    lock.lock().ok().map(|()| lock)
}

/// Takes away what those left that were killed while they wrote: nobody holds its lock.
fn remove_abandoned_files(folder: &OwnedFd) {
    let names = openat(folder, ".", LISTED, Mode::empty()).and_then(Dir::new);
    for entry in names.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let whole = |name: &str| name.ends_with(END) || name == "." || name == "..";
        if name.to_str().is_ok_and(whole) {
            continue;
        }
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(folder, name, flags, Mode::empty()) else { continue };
        if File::from(file).try_lock().is_ok() {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
    }
}
