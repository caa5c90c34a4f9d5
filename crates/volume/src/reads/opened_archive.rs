//! An archive in a directory or in a bucket, opened and looked at: whether all its objects are there,
//! as long as they were written.

use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::Path;

use forebay_model::attached::ExposedReads;
use forebay_model::bucket_url::is_bucket_url;
use forebay_model::is_file_name;
use forebay_reads::{Archive, DirectoryObjects, ExportedFile, Kind, MANIFEST};
use rustix::fs::{CWD, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::bucket_archive::{ArchiveObjects, Listing};
use super::error::{ReadsError, archive_error};
use super::source_location::{SourceLocation, folder_proc_path, stat_in_folder};
use forebay_objstore::BucketSettings;

/// An archive that has all its objects.
pub(super) struct OpenedArchive<'s> {
    source: &'s Path,
    pub(super) place: SourceLocation,
    pub(super) archive: Archive,
}

impl OpenedArchive<'_> {
    pub(super) fn open_source<'s>(
        source: &'s Path,
        shown: ExposedReads,
        settings: &BucketSettings,
    ) -> Result<OpenedArchive<'s>, ReadsError> {
        match source.to_str().filter(|url| is_bucket_url(url)) {
            Some(url) => OpenedArchive::open_in_bucket(
                source,
                shown,
                Listing::fetch_from_bucket(url, settings.clone())?,
            ),
            None => OpenedArchive::open_in_folder(source, shown),
        }
    }

    fn open_in_bucket(
        source: &Path,
        shown: ExposedReads,
        listing: Listing,
    ) -> Result<OpenedArchive<'_>, ReadsError> {
        let bucket = ArchiveObjects::start(listing.clone())?;
        let archive =
            Archive::open(Box::new(bucket)).map_err(|error| archive_error(&error, None, source))?;
        let archive = if shown.lite { archive.into_lite() } else { archive };
        let found = |name: &str| listing.objects.get(name).map(|object| object.size);
        archive
            .needed_objects()
            .try_for_each(|(name, len)| check_object_size(name, found(name), *len))?;
        Ok(OpenedArchive { source, place: SourceLocation::Bucket(listing), archive })
    }

    fn open_in_folder(source: &Path, shown: ExposedReads) -> Result<OpenedArchive<'_>, ReadsError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, source, flags, Mode::empty())
            .map_err(|error| ReadsError::new(Kind::Io, error.to_string()))?;
        let archive = Archive::open(Box::new(DirectoryObjects::new(&folder_proc_path(&folder))))
            .map_err(|error| archive_error(&error, Some(&folder), source))?;
        check_object_file(&folder, MANIFEST, None)?;
        let archive = if shown.lite { archive.into_lite() } else { archive };
        archive
            .needed_objects()
            .try_for_each(|(name, len)| check_object_file(&folder, name, Some(*len)))?;
        Ok(OpenedArchive { source, place: SourceLocation::Folder(folder), archive })
    }

    /// The files that it shows.
    pub(super) fn exported_files(
        &self,
        shards: Option<NonZeroU32>,
    ) -> Result<Vec<ExportedFile>, ReadsError> {
        let faces = self.archive.exported_files(shards);
        let folder = self.place.folder();
        let faces = faces.map_err(|error| archive_error(&error, folder, self.source))?;
        match faces.iter().find(|face| !is_file_name(face.name.as_bytes())) {
            Some(face) => {
                let why = format!("{MANIFEST}: {:?} is no name of a file", face.name);
                Err(ReadsError::new(Kind::Damaged, why))
            }
            None => Ok(faces),
        }
    }
}

/// An object has to be a file of its length. A link could lead below the mounts that are about to
/// be made: who serves these would wait for himself.
fn check_object_file(folder: &OwnedFd, name: &str, len: Option<u64>) -> Result<(), ReadsError> {
    let damaged = |what: &str| Err(ReadsError::new(Kind::Damaged, format!("{name} {what}")));
    if !is_file_name(name.as_bytes()) {
        return damaged("is no name of an object");
    }
    match stat_in_folder(folder, name) {
        Err(Errno::NOENT) => damaged("is missing"),
        Err(error) => Err(ReadsError::new(Kind::Io, format!("{name}: {error}"))),
        Ok(found) if !FileType::from_raw_mode(found.st_mode).is_file() => {
            damaged("is no file: an archive that is shown has no links in it")
        }
        Ok(found) => {
            let size = found.st_size as u64;
            check_object_size(name, Some(size), len.unwrap_or(size))
        }
    }
}

/// An object has to have all its bytes.
fn check_object_size(name: &str, found: Option<u64>, len: u64) -> Result<(), ReadsError> {
    let why = match found {
        None => format!("{name} is missing"),
        Some(found) if found != len => format!("{name} has {found} bytes of {len}"),
        Some(_) => return Ok(()),
    };
    Err(ReadsError::new(Kind::Damaged, why))
}
