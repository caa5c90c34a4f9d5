//! Empty files that stand for those that an archive shows: names, owner, mode and times, and no
//! bytes. A hole as long as the file would do as well, until somebody copies a home directory.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use forebay_reads::{ExportedFile, MANIFEST};
use rustix::fs::{
    Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, fchmod, fchown, fstat, futimens, openat,
};

use super::source_location::{SourceLocation, stat_in_folder};

/// To be read, by whoever may read the archive.
const READ: u32 = 0o444;
const ENTER: u32 = 0o555;
/// This user can take it away again.
const OWN: u32 = 0o700;

/// Owner, mode and time that are shown of a file or directory.
#[derive(Clone, Copy)]
pub(super) struct ExportedAttributes {
    /// Where it has any.
    owner: Option<(u32, u32)>,
    mode: u32,
    time: Timespec,
}

impl ExportedAttributes {
    /// Those of files that an archive shows, and of their directory: those of the manifest and of
    /// what it lies in. An object has no owner that this machine knows: whoever may read the volume
    /// may read what is shown of it.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn for_archive(place: &SourceLocation) -> io::Result<[ExportedAttributes; 2]> {
        match place {
            SourceLocation::Folder(folder) => {
                let file = ExportedAttributes::for_file(&stat_in_folder(folder, MANIFEST)?);
                Ok([file, ExportedAttributes::for_folder(&fstat(folder)?, file)])
            }
            SourceLocation::Bucket(listing) => {
                let manifest = listing.objects.get(MANIFEST);
                let (sec, nsec) = manifest.map_or((0, 0), |manifest| manifest.written);
                let time = Timespec { tv_sec: sec, tv_nsec: nsec.into() };
                Ok([READ, ENTER].map(|mode| ExportedAttributes { owner: None, mode, time }))
            }
            SourceLocation::Files => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(super) fn for_file(stat: &Stat) -> ExportedAttributes {
        let (tv_sec, tv_nsec) = (stat.st_mtime as _, stat.st_mtime_nsec as _);
        let time = Timespec { tv_sec, tv_nsec };
        ExportedAttributes {
            owner: Some((stat.st_uid, stat.st_gid)),
            mode: stat.st_mode & READ,
            time,
        }
    }

    /// Its time is that of what lies in it.
    pub(super) fn for_folder(stat: &Stat, file: ExportedAttributes) -> ExportedAttributes {
        ExportedAttributes {
            owner: Some((stat.st_uid, stat.st_gid)),
            mode: stat.st_mode & ENTER,
            ..file
        }
    }

    /// An ordinary user's files are theirs, whoever made what is shown.
    fn apply_to_file(&self, file: impl AsFd, more: u32) -> io::Result<()> {
        let file = file.as_fd();
        if let Some((user, group)) = self.owner.filter(|_| rustix::process::geteuid().is_root()) {
            fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
        }
        fchmod(file, Mode::from_raw_mode(self.mode | more))?;
        let times = Timestamps { last_access: self.time, last_modification: self.time };
        futimens(file, &times)?;
        Ok(())
    }
}

/// Makes one for each face in `dir`. Gives their numbers.
///
/// # Errors
/// Those of the file system; EEXIST for a name that is there twice.
pub(super) fn create_empty_files(
    dir: &OwnedFd,
    folder: ExportedAttributes,
    faces: Vec<(ExportedFile, ExportedAttributes)>,
) -> io::Result<Vec<(u64, ExportedFile)>> {
    let made = faces.into_iter().map(|(face, guise)| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(dir, face.name.as_str(), flags, Mode::RUSR)?;
        guise.apply_to_file(&file, 0)?;
        Ok((fstat(&file)?.st_ino, face))
    });
    let made: io::Result<Vec<_>> = made.collect();
    folder.apply_to_file(dir, OWN)?;
    made
}
