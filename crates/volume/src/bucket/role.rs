//! The two ways in which a volume in a bucket is mounted: by its one writer, and by its readers.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::local_copy::LocalCopy;
use super::peers::PeerGroup;
use super::read_replica::{self, PreparedReplica, ReadReplica, ReplicaOptions};
use super::volume_opening::{BucketError, OpenedVolume, WriterOptions, open_for_writing};
use crate::backend::{Backend, TreeServer};

/// How a volume in a bucket is to be mounted.
#[derive(Debug)]
pub enum BucketRole {
    /// As its one writer.
    Writer(Box<WriterOptions>),
    /// As one of its readers.
    Reader(Box<ReplicaOptions>),
}

/// One that can be served in its role.
#[derive(Debug)]
pub(crate) enum PreparedVolume {
    Writer(Box<OpenedVolume>),
    Reader(Box<PreparedReplica>),
}

impl BucketRole {
    /// Opens the volume.
    ///
    /// # Errors
    /// Why it can't be: nothing is changed then, here or there.
    pub(crate) fn open_volume(self) -> Result<PreparedVolume, BucketError> {
        match self {
            BucketRole::Writer(wanted) => {
                open_for_writing(*wanted).map(Box::new).map(PreparedVolume::Writer)
            }
            BucketRole::Reader(wanted) => {
                read_replica::open_read_replica(*wanted).map(Box::new).map(PreparedVolume::Reader)
            }
        }
    }
}

impl PreparedVolume {
    /// The directory that stands for it here.
    pub(crate) fn tree_directory(&self) -> PathBuf {
        match self {
            PreparedVolume::Writer(opened) => opened.tree_directory(),
            PreparedVolume::Reader(followed) => followed.tree_directory(),
        }
    }

    /// What people should know.
    pub(crate) fn warning(&self) -> Option<String> {
        match self {
            PreparedVolume::Writer(opened) => opened.warning.clone(),
            PreparedVolume::Reader(_) => None,
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, PreparedVolume::Reader(_))
    }

    /// Begins to keep the local tree in step with its bucket, whose bytes are shared with `peers`;
    /// `serve` makes what serves the tree.
    ///
    /// # Errors
    /// When the bucket's client can't be made, or the directory is gone.
    pub(crate) fn start<S: TreeServer + 'static>(
        self,
        peers: Option<&Arc<PeerGroup>>,
        serve: impl FnOnce(Arc<dyn Backend>) -> S,
    ) -> io::Result<Arc<S>> {
        match self {
            PreparedVolume::Writer(opened) => LocalCopy::start(*opened, peers, |it| serve(it)),
            PreparedVolume::Reader(followed) => {
                ReadReplica::start(*followed, peers, |it| serve(it))
            }
        }
    }
}
