//! Reads before they are shown: opened, looked at as far as a look costs next to nothing, and
//! given a directory of empty files. Nothing that stays of it has threads: this process is about to
//! fork.

use std::io;
use std::path::{Path, PathBuf};

use forebay_model::attached::ExposedReads;
use forebay_reads::{Archive, ExportedFile, Kind, MemoryObjects, OriginalFileSet};

use super::bucket_archive::{ArchiveObjects, Listing, PrefixContent};
use super::empty::{ExportedAttributes, create_empty_files};
use super::error::{ReadsError, archive_error};
use super::opened_archive::OpenedArchive;
use super::source_location::SourceLocation;
use crate::bucket::{AttachmentDirectory, BucketAccess};
use forebay_objstore::{BucketSettings, RequestError};

/// Reads that are about to be shown.
#[derive(Debug)]
pub(crate) struct PreparedReads {
    pub(super) source: PathBuf,
    pub(super) what: ReadsSource,
    /// Numbers of empty files, and what they stand for.
    pub(super) faces: Vec<(u64, ExportedFile)>,
    pub(super) place: SourceLocation,
    pub(super) held: AttachmentDirectory,
}

/// What has the text.
#[derive(Debug)]
pub(super) enum ReadsSource {
    Archive(Archive),
    Plain(OriginalFileSet),
}

impl PreparedReads {
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
    shown: ExposedReads,
    ways: &BucketAccess,
) -> Result<PreparedReads, ReadsError> {
    let open = OpenedArchive::open_source(source, shown, &ways.settings)?;
    let faces = open.exported_files(shown.shards)?;
    let [file, folder] = ExportedAttributes::for_archive(&open.place)
        .map_err(|error| ReadsError::new(Kind::Io, format!("it can't be looked at: {error}")))?;
    let faces = faces.into_iter().map(|face| (face, file)).collect();
    let (held, faces) = create_stand_ins(source, folder, faces, ways)?;
    let OpenedArchive { place, mut archive, .. } = open;
    if let SourceLocation::Bucket(_) = place {
        // A client has threads. Whoever serves the archive makes another.
        archive = archive.with_objects(Box::new(MemoryObjects::default()));
    }
    let what = ReadsSource::Archive(archive);
    Ok(PreparedReads { source: source.to_owned(), what, faces, place, held })
}

/// Takes a directory, and makes an empty file in it for each face.
pub(super) fn create_stand_ins(
    source: &Path,
    folder: ExportedAttributes,
    faces: Vec<(ExportedFile, ExportedAttributes)>,
    ways: &BucketAccess,
) -> Result<(AttachmentDirectory, Vec<(u64, ExportedFile)>), ReadsError> {
    let state = ways.state.display();
    let at = |error: io::Error| {
        ReadsError::new(Kind::Io, format!("its files can't be made in {state}: {error}"))
    };
    let held = AttachmentDirectory::lock_unused_directory(
        &ways.state,
        &format!("reads://{}", source.display()),
    )
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
    shown: ExposedReads,
    settings: &BucketSettings,
) -> Result<(), ReadsError> {
    OpenedArchive::open_source(source, shown, settings)?.exported_files(shown.shards).map(drop)
}

/// What a prefix of a bucket holds.
///
/// # Errors
/// What the bucket says.
pub fn classify_prefix(url: &str, settings: BucketSettings) -> Result<PrefixContent, RequestError> {
    Ok(Listing::fetch_from_bucket(url, settings)?.classify_contents())
}

/// Opens an archive in a bucket, to read it in this process.
///
/// # Errors
/// What the bucket says; it is none, or damaged.
pub fn open_archive_in_bucket(url: &str, settings: BucketSettings) -> Result<Archive, ReadsError> {
    let listing = Listing::fetch_from_bucket(url, settings)?;
    let bucket = ArchiveObjects::start(listing)?;
    Archive::open(Box::new(bucket)).map_err(|error| archive_error(&error, None, Path::new(url)))
}
