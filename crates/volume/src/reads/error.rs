//! Why reads can't be shown, in words that people know.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use forebay_reads::{Error, Kind};

use super::source_location::folder_proc_path;
use forebay_objstore::RequestError;

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

impl From<RequestError> for ReadsError {
    fn from(failed: RequestError) -> ReadsError {
        ReadsError { bucket: Some(failed.kind), ..ReadsError::new(Kind::Io, failed.why) }
    }
}

pub(super) fn archive_error(error: &Error, folder: Option<&OwnedFd>, source: &Path) -> ReadsError {
    let bucket = error.io_kind().filter(|_| folder.is_none());
    ReadsError { bucket, ..ReadsError::new(error.kind, error_text(error, folder, source)) }
}

/// An error in words, with the path that people know.
pub(super) fn error_text(error: &Error, folder: Option<&OwnedFd>, source: &Path) -> String {
    let Some(folder) = folder else { return error.message.clone() };
    let (way, source) = (folder_proc_path(folder), source.display().to_string());
    error.message.replace(&*way.to_string_lossy(), &source)
}
