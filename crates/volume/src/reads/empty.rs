//! Empty files that stand for those that an archive shows: names, owner, mode and times, and no
//! bytes. A hole as long as the file would do as well, until somebody copies a home directory.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use forebay_reads::{Face, MANIFEST};
use rustix::fs::{
    Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, fchmod, fchown, fstat, futimens, openat,
};

use super::found::stat;

/// To be read, by whoever may read the archive.
const READ: u32 = 0o444;
const ENTER: u32 = 0o555;
/// This user can take it away again.
const OWN: u32 = 0o700;

/// Makes one for each face in `dir`, as the manifest in `folder` is. Gives their numbers.
///
/// # Errors
/// Those of the file system; EEXIST for a name that is there twice.
pub(super) fn fill(
    dir: &OwnedFd,
    folder: &OwnedFd,
    faces: Vec<Face>,
) -> io::Result<Vec<(u64, Face)>> {
    let manifest = stat(folder, MANIFEST)?;
    let made = faces.into_iter().map(|face| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(dir, face.name.as_str(), flags, Mode::RUSR)?;
        dress(&file, &manifest, manifest.st_mode & READ, &manifest)?;
        Ok((fstat(&file)?.st_ino, face))
    });
    let made: io::Result<Vec<_>> = made.collect();
    let around = fstat(folder)?;
    dress(dir, &around, around.st_mode & ENTER | OWN, &manifest)?;
    made
}

/// Owner, mode and times. An ordinary user's files are theirs, whoever made the archive.
fn dress(file: impl AsFd, owner: &Stat, mode: u32, times: &Stat) -> io::Result<()> {
    let file = file.as_fd();
    if rustix::process::geteuid().is_root() {
        fchown(file, Some(Uid::from_raw(owner.st_uid)), Some(Gid::from_raw(owner.st_gid)))?;
    }
    fchmod(file, Mode::from_raw_mode(mode))?;
    let time = Timespec { tv_sec: times.st_mtime as _, tv_nsec: times.st_mtime_nsec as _ };
    futimens(file, &Timestamps { last_access: time, last_modification: time })?;
    Ok(())
}
