//! Empty files that stand for those that an archive shows: names, owner, mode and times, and no
//! bytes. A hole as long as the file would do as well, until somebody copies a home directory.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use forebay_reads::{Face, MANIFEST};
use rustix::fs::{
    Gid, Mode, OFlags, Timespec, Timestamps, Uid, fchmod, fchown, fstat, futimens, openat,
};

use super::found::{Place, stat};

/// To be read, by whoever may read the archive.
const READ: u32 = 0o444;
const ENTER: u32 = 0o555;
/// This user can take it away again.
const OWN: u32 = 0o700;

/// Owners, modes and times that are shown.
pub(super) struct Guise {
    /// Of files and of the directory, where an archive has any.
    owners: Option<[(u32, u32); 2]>,
    modes: [u32; 2],
    time: Timespec,
}

impl Guise {
    /// Those of the manifest and of what it lies in. An object has no owner that this machine knows:
    /// whoever may read the volume may read what is shown of it.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn of(place: &Place) -> io::Result<Guise> {
        match place {
            Place::Folder(folder) => {
                let (manifest, around) = (stat(folder, MANIFEST)?, fstat(folder)?);
                let owners = [&manifest, &around].map(|stat| (stat.st_uid, stat.st_gid));
                let modes = [manifest.st_mode & READ, around.st_mode & ENTER];
                let (tv_sec, tv_nsec) = (manifest.st_mtime as _, manifest.st_mtime_nsec as _);
                Ok(Guise { owners: Some(owners), modes, time: Timespec { tv_sec, tv_nsec } })
            }
            Place::Bucket(listing) => {
                let manifest = listing.objects.get(MANIFEST);
                let (sec, nsec) = manifest.map_or((0, 0), |manifest| manifest.written);
                let time = Timespec { tv_sec: sec, tv_nsec: nsec.into() };
                Ok(Guise { owners: None, modes: [READ, ENTER], time })
            }
        }
    }

    /// An ordinary user's files are theirs, whoever made the archive.
    fn dress(&self, file: impl AsFd, which: usize, more: u32) -> io::Result<()> {
        let file = file.as_fd();
        if let Some(owners) = self.owners.filter(|_| rustix::process::geteuid().is_root()) {
            let (user, group) = owners[which];
            fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
        }
        fchmod(file, Mode::from_raw_mode(self.modes[which] | more))?;
        let times = Timestamps { last_access: self.time, last_modification: self.time };
        futimens(file, &times)?;
        Ok(())
    }
}

/// Makes one for each face in `dir`. Gives their numbers.
///
/// # Errors
/// Those of the file system; EEXIST for a name that is there twice.
pub(super) fn fill(dir: &OwnedFd, guise: &Guise, faces: Vec<Face>) -> io::Result<Vec<(u64, Face)>> {
    let made = faces.into_iter().map(|face| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(dir, face.name.as_str(), flags, Mode::RUSR)?;
        guise.dress(&file, 0, 0)?;
        Ok((fstat(&file)?.st_ino, face))
    });
    let made: io::Result<Vec<_>> = made.collect();
    guise.dress(dir, 1, OWN)?;
    made
}
