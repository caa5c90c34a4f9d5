//! Reads before they are shown: opened, looked at as far as a look costs next to nothing, and
//! given a directory of empty files. Nothing that stays of it has threads: this process is about to
//! fork.

use std::io;
use std::path::{Path, PathBuf};

use forebay_model::attached::ReadsShown;
use forebay_reads::{Archive, Existing, Face, Kind, Memory};

use super::bucket_archive::{Holds, InBucket, Listing};
use super::empty::{AttributeOverride, create_empty_files};
use super::error::{ReadsError, archive_error};
use super::opened_archive::Open;
use super::source_location::Place;
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
        self.held.tree_directory()
    }
}

/// Opens an archive, and takes a directory for the files that it shows.
///
/// # Errors
/// It is none, a part of it is missing, or the file system of the directory refuses.
pub(crate) fn prepare_archive(
    source: &Path,
    shown: ReadsShown,
    ways: &Ways,
) -> Result<Found, ReadsError> {
    let open = Open::open_source(source, shown, &ways.settings)?;
    let faces = open.exported_files(shown.shards)?;
    let [file, folder] = AttributeOverride::for_archive(&open.place)
        .map_err(|error| ReadsError::new(Kind::Io, format!("it can't be looked at: {error}")))?;
    let faces = faces.into_iter().map(|face| (face, file)).collect();
    let (held, faces) = create_stand_ins(source, folder, faces, ways)?;
    let Open { place, mut archive, .. } = open;
    if let Place::Bucket(_) = place {
        // A client has threads. Whoever serves the archive makes another.
        archive = archive.with_objects(Box::new(Memory::default()));
    }
    let what = What::Archive(archive);
    Ok(Found { source: source.to_owned(), what, faces, place, held })
}

/// Takes a directory, and makes an empty file in it for each face.
pub(super) fn create_stand_ins(
    source: &Path,
    folder: AttributeOverride,
    faces: Vec<(Face, AttributeOverride)>,
    ways: &Ways,
) -> Result<(Held, Vec<(u64, Face)>), ReadsError> {
    let state = ways.state.display();
    let at = |error: io::Error| {
        ReadsError::new(Kind::Io, format!("its files can't be made in {state}: {error}"))
    };
    let held = Held::lock_unused_directory(&ways.state, &format!("reads://{}", source.display()))
        .map_err(at)?;
    held.remake_empty().map_err(at)?;
    let faces = create_empty_files(&held.open_tree().map_err(at)?, folder, faces).map_err(at)?;
    Ok((held, faces))
}

/// Whether the archive in a directory, or in a bucket that is reached so, can be shown.
///
/// # Errors
/// Why not.
pub fn check_can_show(
    source: &Path,
    shown: ReadsShown,
    settings: &Settings,
) -> Result<(), ReadsError> {
    Open::open_source(source, shown, settings)?.exported_files(shown.shards).map(drop)
}

/// What a prefix of a bucket holds.
///
/// # Errors
/// What the bucket says.
pub fn classify_prefix(url: &str, settings: Settings) -> Result<Holds, Failed> {
    Ok(Listing::fetch_from_bucket(url, settings)?.classify_contents())
}

/// Opens an archive in a bucket, to read it in this process.
///
/// # Errors
/// What the bucket says; it is none, or damaged.
pub fn open_archive_in_bucket(url: &str, settings: Settings) -> Result<Archive, ReadsError> {
    let listing = Listing::fetch_from_bucket(url, settings)?;
    let bucket = InBucket::start(listing)?;
    Archive::open(Box::new(bucket)).map_err(|error| archive_error(&error, None, Path::new(url)))
}
