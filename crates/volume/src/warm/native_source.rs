//! Trees that this machine keeps in a directory, with holes where bytes have not come.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;

use super::source::{BytesHere, FoundFile, WarmSource};
use super::tree_walk::TreeWalk;
use crate::fuse::Session;
use crate::native::ROOT;
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

impl WarmSource for Session {
    fn for_each_file(
        &self,
        path: &[u8],
        found: &mut dyn FnMut(FoundFile),
        failed: &mut dyn FnMut(&[u8], Errno),
    ) {
        match self.native().dir_fd(ROOT) {
            Ok(root) => {
                let backend = self.native().shared_backend();
                let walk = TreeWalk { root: &root, backend: &*backend };
                walk.for_each_file(path, found, failed);
            }
            Err(errno) => failed(path, errno),
        }
    }

    fn bring_file(&self, path: &[u8], begin: &mut dyn FnMut(BytesHere)) -> Result<(), Errno> {
        let root = self.native().dir_fd(ROOT)?;
        let backend = self.native().shared_backend();
        let opened = TreeWalk { root: &root, backend: &*backend }.open_path(path)?;
        let pinned = backend.pin_bytes_for_open();
        let identity = FileIdentity::from_statx(&statx_nofollow(opened.as_fd(), c"")?);
        let source = Arc::clone(&backend).open_source(&identity, opened.as_fd())?;
        drop(pinned);
        // All of it is here, or it is decoded as it is read.
        let Some(source) = source.filter(|source| source.own_length().is_none()) else {
            return Ok(());
        };
        // A file that has not come whole is a hole, of which some has been filled.
        begin(Arc::new(move || {
            let stat = rustix::fs::fstat(&opened);
            stat.map_or(0, |stat| (stat.st_blocks as u64 * 512).min(stat.st_size as u64))
        }));
        let brought = source.fetch_all();
        source.close();
        brought
    }
}
