//! Where the long files of a shared volume lie, and what marks the place as its own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use forebay_book::VolumeName;
use forebay_objstore::{BucketClient, BucketSettings, PutCondition};

use super::SharedError;
use super::bucket_objects::BucketObjects;
use super::directory_objects::{DirectoryObjects, NOTE, NOTE_TEXT};
use super::object_place::{ObjectPlace, SharedObjects};
use crate::bucket::{PeerGroup, ReadParts};

/// Where long files lie.
#[derive(Debug, Clone)]
pub enum LongFiles {
    /// In a bucket.
    Bucket {
        /// `s3://BUCKET/PREFIX`
        url: String,
        /// How it is reached.
        settings: BucketSettings,
    },
    /// In a directory that all nodes have, each perhaps by another path.
    Directory(PathBuf),
}

impl LongFiles {
    /// What the volume is called in the book. A directory has its name in a note, which is made
    /// here where there is none: nodes may have the directory by other paths.
    ///
    /// # Errors
    /// The directory can't be used, or has something else.
    pub(super) fn volume_name(&self) -> Result<VolumeName, SharedError> {
        match self {
            LongFiles::Bucket { url, .. } => Ok(VolumeName::new(url)?),
            LongFiles::Directory(path) => {
                let name = DirectoryObjects::open(path).and_then(|opened| opened.claim(path));
                Ok(VolumeName::new(&name.map_err(|error| match error.kind() {
                    io::ErrorKind::DirectoryNotEmpty => SharedError::Foreign(error.to_string()),
                    _ => SharedError::Directory(path.clone(), error),
                })?)?)
            }
        }
    }

    /// The place is one of a shared volume, or becomes one if it has nothing. A mount with one
    /// writer refuses a prefix from then on, as one that has no volume.
    ///
    /// # Errors
    /// Why it can't be.
    pub(super) fn claim(&self) -> Result<(), SharedError> {
        let LongFiles::Bucket { url, settings } = self else { return Ok(()) };
        let bucket = BucketClient::open(url, settings.clone())?;
        if bucket.object_size(NOTE)?.is_some() {
            return Ok(());
        }
        if let Some(found) = bucket.list_recursive("")?.into_iter().next() {
            return Err(SharedError::Foreign(found.name));
        }
        let text = Bytes::from_static(NOTE_TEXT.as_bytes());
        match bucket.put_when(NOTE, text, PutCondition::Absent, "") {
            Err(failed) if failed.kind != io::ErrorKind::AlreadyExists => Err(failed.into()),
            _ => Ok(()),
        }
    }

    /// What brings files there, and reads them by way of these peers.
    ///
    /// # Errors
    /// The client can't be made; the directory can't be opened.
    pub(super) fn open(
        &self,
        name: &VolumeName,
        peers: &Arc<PeerGroup>,
    ) -> io::Result<Arc<SharedObjects>> {
        let place: Arc<dyn ObjectPlace> = match self {
            LongFiles::Bucket { url, settings } => {
                let bucket = BucketClient::open(url, settings.clone()).map_err(io::Error::other)?;
                Arc::new(BucketObjects(bucket))
            }
            LongFiles::Directory(path) => Arc::new(DirectoryObjects::open(path)?),
        };
        let parts = peers.share_parts(name.as_str(), Arc::clone(&place) as Arc<dyn ReadParts>);
        Ok(Arc::new(SharedObjects::new(place, parts)))
    }

    /// Whether this path is within the place itself.
    pub(super) fn contains(&self, path: &Path) -> bool {
        matches!(self, LongFiles::Directory(place) if path.starts_with(place))
    }

    /// As people named it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            LongFiles::Bucket { url, .. } => url.clone(),
            LongFiles::Directory(path) => path.display().to_string(),
        }
    }
}
