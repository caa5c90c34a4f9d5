//! Reads before they are shown: opened, looked at as far as a look costs next to nothing, and
//! given a directory of empty files. Nothing that stays of it has threads: this process is about to
//! fork.

use std::io;
use std::path::{Path, PathBuf};

use forebay_model::attached::ReadsShown;
use forebay_reads::{Archive, Existing, Face, Kind, Memory};

use super::bucket::{Holds, InBucket, Listing};
use super::empty::{AttributeOverride, fill};
use super::error::{ReadsError, trouble};
use super::open::Open;
use super::place::Place;
use crate::bucket::{Held, Ways};
use forebay_objstore::{Failed, Settings};

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
