//! The two ways in which a volume in a bucket is mounted: by its one writer, and by its readers.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::local_copy::Mirror;
use super::read_replica::{self, Follow, Followed, Following};
use super::volume_opening::{BucketError, Opened, Wanted, open_for_writing};
use crate::backend::{Backend, TreeServer};

/// How a volume in a bucket is to be mounted.
#[derive(Debug)]
pub enum Role {
    /// As its one writer.
    Writer(Box<Wanted>),
    /// As one of its readers.
    Reader(Box<Following>),
}

/// One that can be served in its role.
#[derive(Debug)]
pub(crate) enum Ready {
    Writer(Box<Opened>),
    Reader(Box<Followed>),
}

impl Role {
    /// Opens the volume.
    ///
    /// # Errors
    /// Why it can't be: nothing is changed then, here or there.
    pub(crate) fn open_volume(self) -> Result<Ready, BucketError> {
        match self {
            Role::Writer(wanted) => open_for_writing(*wanted).map(Box::new).map(Ready::Writer),
            Role::Reader(wanted) => {
                read_replica::open_read_replica(*wanted).map(Box::new).map(Ready::Reader)
            }
        }
    }
}

impl Ready {
    /// The directory that stands for it here.
    pub(crate) fn tree_directory(&self) -> PathBuf {
        match self {
            Ready::Writer(opened) => opened.tree_directory(),
            Ready::Reader(followed) => followed.tree_directory(),
        }
    }

    /// What people should know.
    pub(crate) fn warning(&self) -> Option<String> {
        match self {
            Ready::Writer(opened) => opened.warning.clone(),
            Ready::Reader(_) => None,
        }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self, Ready::Reader(_))
    }

    /// Begins to keep the local tree in step with its bucket; `serve` makes what serves the tree.
    ///
    /// # Errors
    /// When the bucket's client can't be made, or the directory is gone.
    pub(crate) fn start<S: TreeServer + 'static>(
        self,
        serve: impl FnOnce(Arc<dyn Backend>) -> S,
    ) -> io::Result<Arc<S>> {
        match self {
            Ready::Writer(opened) => Mirror::start(*opened, |it| serve(it)),
            Ready::Reader(followed) => Follow::start(*followed, |it| serve(it)),
        }
    }
}
