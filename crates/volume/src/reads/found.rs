//! Reads before they are shown: opened, looked at as far as a look costs next to nothing, and
//! given a directory of empty files. Nothing that stays of it has threads: this process is about to
//! fork.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use forebay_model::attached::ReadsShown;
use forebay_reads::{Archive, Error, Existing, Face, Kind, Memory};
use rustix::fs::{AtFlags, Stat, statat};
use rustix::io::Errno;

use super::bucket::{Holds, InBucket, Listing};
use super::empty::{AttributeOverride, fill};
use super::open::Open;
use crate::bucket::{Held, Ways};
use forebay_objstore::{Failed, Settings};

/// Why reads can't be shown.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct ReadsError {
    /// What can be done about it.
    pub kind: Kind,
    /// Cause and place, for people.
    pub why: String,
    /// What kind of failure a bucket said it is, if one did.
    pub bucket: Option<io::ErrorKind>,
    /// It is about files that were there before, and no archive.
    pub plain: bool,
}

impl ReadsError {
    pub(super) fn new(kind: Kind, why: String) -> ReadsError {
        ReadsError { kind, why, bucket: None, plain: false }
    }
}

impl From<Failed> for ReadsError {
    fn from(failed: Failed) -> ReadsError {
        ReadsError { bucket: Some(failed.kind), ..ReadsError::new(Kind::Io, failed.why) }
    }
}

/// Reads that are about to be shown.
#[derive(Debug)]
pub(crate) struct Found {
    pub(super) source: PathBuf,
    pub(super) what: What,
    /// Numbers of empty files, and what they stand for.
    pub(super) faces: Vec<(u64, Face)>,
    pub(super) place: Place,
    pub(super) held: Held,
}

/// What has the text.
#[derive(Debug)]
pub(super) enum What {
    Archive(Archive),
    Plain(Existing),
}

/// Where it lies.
#[derive(Debug)]
pub(super) enum Place {
    /// In a directory, which is reached through this, wherever it lies and whatever covers it.
    Folder(OwnedFd),
    /// In a bucket.
    Bucket(Listing),
    /// In files that are open.
    Files,
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
pub(crate) fn find(source: &Path, shown: ReadsShown, ways: &Ways) -> Result<Found, ReadsError> {
    let open = Open::of(source, shown, &ways.settings)?;
    let faces = open.faces(shown.shards)?;
    let [file, folder] = AttributeOverride::of(&open.place)
        .map_err(|error| ReadsError::new(Kind::Io, format!("it can't be looked at: {error}")))?;
    let faces = faces.into_iter().map(|face| (face, file)).collect();
    let (held, faces) = stand(source, folder, faces, ways)?;
    let Open { place, mut archive, .. } = open;
    if let Place::Bucket(_) = place {
        // A client has threads. Whoever serves the archive makes another.
        archive = archive.over(Box::new(Memory::default()));
    }
    let what = What::Archive(archive);
    Ok(Found { source: source.to_owned(), what, faces, place, held })
}

/// Takes a directory, and makes an empty file in it for each face.
pub(super) fn stand(
    source: &Path,
    folder: AttributeOverride,
    faces: Vec<(Face, AttributeOverride)>,
    ways: &Ways,
) -> Result<(Held, Vec<(u64, Face)>), ReadsError> {
    let state = ways.state.display();
    let at = |error: io::Error| {
        ReadsError::new(Kind::Io, format!("its files can't be made in {state}: {error}"))
    };
    let held = Held::take(&ways.state, &format!("reads://{}", source.display())).map_err(at)?;
    held.clear().map_err(at)?;
    let faces = fill(&held.open().map_err(at)?, folder, faces).map_err(at)?;
    Ok((held, faces))
}

/// Whether the archive in a directory, or in a bucket that is reached so, can be shown.
///
/// # Errors
/// Why not.
pub fn can_show(source: &Path, shown: ReadsShown, settings: &Settings) -> Result<(), ReadsError> {
    Open::of(source, shown, settings)?.faces(shown.shards).map(drop)
}

/// What a prefix of a bucket holds.
///
/// # Errors
/// What the bucket says.
pub fn holds(url: &str, settings: Settings) -> Result<Holds, Failed> {
    Ok(Listing::of(url, settings)?.holds())
}

/// Opens an archive in a bucket, to read it in this process.
///
/// # Errors
/// What the bucket says; it is none, or damaged.
pub fn open(url: &str, settings: Settings) -> Result<Archive, ReadsError> {
    let listing = Listing::of(url, settings)?;
    let bucket = InBucket::start(listing)?;
    Archive::open(Box::new(bucket)).map_err(|error| trouble(&error, None, Path::new(url)))
}

impl Place {
    pub(super) fn folder(&self) -> Option<&OwnedFd> {
        match self {
            Place::Folder(folder) => Some(folder),
            Place::Bucket(_) | Place::Files => None,
        }
    }
}

pub(super) fn trouble(error: &Error, folder: Option<&OwnedFd>, source: &Path) -> ReadsError {
    let bucket = error.io_kind().filter(|_| folder.is_none());
    ReadsError { bucket, ..ReadsError::new(error.kind, plain(error, folder, source)) }
}

pub(super) fn stat(folder: &OwnedFd, name: &str) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// A path that leads to an open directory, whatever covers it.
pub(super) fn way_to(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// An error in words, with the path that people know.
pub(super) fn plain(error: &Error, folder: Option<&OwnedFd>, source: &Path) -> String {
    let Some(folder) = folder else { return error.message.clone() };
    let (way, source) = (way_to(folder), source.display().to_string());
    error.message.replace(&*way.to_string_lossy(), &source)
}
