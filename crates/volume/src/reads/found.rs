//! An archive before it is shown: opened, looked at as far as a look costs next to nothing, and
//! given a directory of empty files. Nothing of it has threads: this process is about to fork.

use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_reads::{Archive, Directory, Error, Face, Kind, MANIFEST};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Errno;

use super::empty::fill;
use crate::bucket::{Held, Ways};

/// Why an archive can't be shown.
#[derive(Debug)]
pub struct Trouble {
    /// What can be done about it.
    pub kind: Kind,
    /// Cause and place, for people.
    pub why: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Trouble {}

/// An archive that is about to be shown.
#[derive(Debug)]
pub(crate) struct Found {
    pub(super) source: PathBuf,
    pub(super) archive: Arc<Archive>,
    /// Numbers of empty files, and what they stand for.
    pub(super) faces: Vec<(u64, Face)>,
    pub(super) folder: OwnedFd,
    pub(super) held: Held,
}

impl Found {
    /// The directory that stands for it here.
    pub(crate) fn directory(&self) -> PathBuf {
        self.held.tree()
    }
}

/// Opens an archive, and takes a directory for the files that it shows.
///
/// # Errors
/// It is none, a part of it is missing, or the file system of the directory refuses.
pub(crate) fn find(
    source: &Path,
    shards: Option<NonZeroU32>,
    ways: &Ways,
) -> Result<Found, Trouble> {
    let open = Open::of(source)?;
    let faces = open.faces(shards)?;
    let at = |error: io::Error| Trouble {
        kind: Kind::Io,
        why: format!("its files can't be made in {}: {error}", ways.state.display()),
    };
    let held = Held::take(&ways.state, &format!("reads://{}", source.display())).map_err(at)?;
    held.clear().map_err(at)?;
    let faces = fill(&held.open().map_err(at)?, &open.folder, faces).map_err(at)?;
    let Open { folder, archive, .. } = open;
    Ok(Found { source: source.to_owned(), archive: Arc::new(archive), faces, folder, held })
}

/// Whether the archive in a directory can be shown.
///
/// # Errors
/// Why not.
pub fn can_show(source: &Path, shards: Option<NonZeroU32>) -> Result<(), Trouble> {
    Open::of(source)?.faces(shards).map(drop)
}

/// An archive that has all its objects.
struct Open<'s> {
    source: &'s Path,
    folder: OwnedFd,
    archive: Archive,
}

impl Open<'_> {
    fn of(source: &Path) -> Result<Open<'_>, Trouble> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, source, flags, Mode::empty())
            .map_err(|error| Trouble { kind: Kind::Io, why: error.to_string() })?;
        let archive = Archive::open(Box::new(Directory::new(&way_to(&folder))))
            .map_err(|error| trouble(&error, &folder, source))?;
        look(&folder, MANIFEST, None)?;
        let objects = &archive.manifest().objects;
        objects.iter().try_for_each(|(name, len)| look(&folder, name, Some(*len)))?;
        Ok(Open { source, folder, archive })
    }

    /// The files that it shows.
    fn faces(&self, shards: Option<NonZeroU32>) -> Result<Vec<Face>, Trouble> {
        let faces = self.archive.faces(shards);
        let faces = faces.map_err(|error| trouble(&error, &self.folder, self.source))?;
        match faces.iter().find(|face| !is_name(&face.name)) {
            Some(face) => {
                let why = format!("{MANIFEST}: {:?} is no name of a file", face.name);
                Err(Trouble { kind: Kind::Damaged, why })
            }
            None => Ok(faces),
        }
    }
}

fn trouble(error: &Error, folder: &OwnedFd, source: &Path) -> Trouble {
    Trouble { kind: error.kind, why: plain(error, folder, source) }
}

/// An object has to be a file of its length. A link could lead below the mounts that are about to
/// be made: who serves these would wait for himself.
fn look(folder: &OwnedFd, name: &str, len: Option<u64>) -> Result<(), Trouble> {
    let damaged =
        |what: String| Err(Trouble { kind: Kind::Damaged, why: format!("{name} {what}") });
    if !is_name(name) {
        return damaged("is no name of an object".to_owned());
    }
    match stat(folder, name) {
        Err(Errno::NOENT) => damaged("is missing".to_owned()),
        Err(error) => Err(Trouble { kind: Kind::Io, why: format!("{name}: {error}") }),
        Ok(found) if !FileType::from_raw_mode(found.st_mode).is_file() => {
            damaged("is no file: an archive that is shown has no links in it".to_owned())
        }
        Ok(found) => match len.filter(|len| *len != found.st_size as u64) {
            Some(len) => damaged(format!("has {} bytes of {len}", found.st_size)),
            None => Ok(()),
        },
    }
}

pub(super) fn stat(folder: &OwnedFd, name: &str) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= 255 && !name.contains(['/', '\0'])
}

/// A path that leads to an open directory, whatever covers it.
fn way_to(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// An error in words, with the path that people know.
pub(super) fn plain(error: &Error, folder: &OwnedFd, source: &Path) -> String {
    let (way, source) = (way_to(folder), source.display().to_string());
    error.message.replace(&*way.to_string_lossy(), &source)
}
