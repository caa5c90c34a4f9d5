//! Bytes of files that are elsewhere: they come before they are read or changed.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::Statx;
use rustix::io::Errno;

use super::super::{FileHandle, Native, Node, OpenReply, Result};
use crate::backend::ContentSource;
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// How often bytes are brought where the disk is full, each time after others' have given room.
const TRIES: usize = 4;

impl Native {
    /// Where the bytes of a file that was opened come from, if they are not all here.
    pub(in crate::native) fn open_source(
        &self,
        file: &FileIdentity,
        descriptor: BorrowedFd<'_>,
    ) -> Result<Option<Arc<dyn ContentSource>>> {
        if self.backend.is_in_place() {
            return Ok(None);
        }
        self.credentials.run_as_daemon(|| Arc::clone(&self.backend).open_source(file, descriptor))
    }

    /// Bytes of a file are about to be read, or are read before others are written.
    pub(in crate::native) fn fetch_range(
        &self,
        handle: &FileHandle,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        match &handle.source {
            Some(source) if !source.is_complete() => self.retry_when_full(|| {
                self.credentials.run_as_daemon(|| source.fetch_range(offset, length))
            }),
            _ => Ok(()),
        }
    }

    /// Reads bytes that no descriptor has; `None`: the file's has them.
    pub(in crate::native) fn read_from_source(
        &self,
        handle: &FileHandle,
        offset: u64,
        buffer: &mut [u8],
    ) -> Option<Result<usize>> {
        let source = handle.source.as_ref().filter(|source| source.own_length().is_some())?;
        Some(self.credentials.run_as_daemon(|| source.read(offset, buffer)))
    }

    /// Does what brings bytes; where the disk is full, others' give room.
    fn retry_when_full<T>(&self, bring: impl Fn() -> Result<T>) -> Result<T> {
        for _ in 1..TRIES {
            match bring() {
                Err(Errno::NOSPC) if self.backend.try_free_space() => {}
                done => return done,
            }
        }
        bring()
    }

    /// Opens a file as [`Native::open_once`] does; the bytes of a small one come with it.
    ///
    /// # Errors
    /// As said there.
    pub(crate) fn open(&self, id: u64, flags: u32) -> Result<(OpenReply, Arc<Node>)> {
        self.retry_when_full(|| self.open_once(id, flags))
    }

    /// A file is about to be written: all of it is to be here.
    pub(in crate::native) fn fetch_before_write(&self, handle: &FileHandle) -> Result<()> {
        handle.source.as_ref().map_or(Ok(()), |source| self.fetch_and_mark_changed(&**source))
    }

    /// The same of a file whose size or times are about to be set.
    pub(in crate::native) fn fetch_before_change(&self, node: &Arc<Node>) -> Result<()> {
        match self.open_source_of_node(node)? {
            Some(source) => self.fetch_and_mark_changed(&*source),
            None => Ok(()),
        }
    }

    fn fetch_and_mark_changed(&self, source: &dyn ContentSource) -> Result<()> {
        if !source.is_complete() {
            self.retry_when_full(|| self.credentials.run_as_daemon(|| source.fetch_all()))?;
        }
        source.note_changed();
        Ok(())
    }

    /// Where the bytes come from of a file that is about to be changed by its name.
    pub(in crate::native) fn open_source_of_node(
        &self,
        node: &Arc<Node>,
    ) -> Result<Option<Arc<dyn ContentSource>>> {
        let file = node.identity();
        self.backend.note_bytes_change(file);
        if !self.backend.is_evicted(&file) {
            return Ok(None);
        }
        let held = self.node_descriptor(node)?;
        self.open_source(&file, held.as_fd())
    }

    /// A file that is open loses a name: where it is kept, its bytes may go soon, and they come
    /// before. Nobody waits for them here, where the kernel holds the directory.
    pub(in crate::native) fn fetch_before_unlink(&self, node: &Node) {
        let source = node.open.lock().handles.iter().find_map(|handle| handle.source.clone());
        if let Some(source) = source {
            self.credentials.run_as_daemon(|| source.note_name_lost());
        }
    }

    /// The last open of a file is over.
    pub(in crate::native) fn close_source(&self, handle: &FileHandle) {
        handle.source.iter().for_each(|source| source.close());
    }

    /// Bytes that come or go change no times that programs see, and decoded ones have no length here.
    /// `file`: a descriptor of it, if there is one.
    pub(crate) fn apply_backend_attributes(
        &self,
        node: &Node,
        stat: &mut Statx,
        file: Option<BorrowedFd<'_>>,
    ) {
        self.backend.apply_length(stat);
        let again = || match file {
            Some(file) => statx_nofollow(file, c""),
            None => {
                let held = self.node(node.id).and_then(|node| self.node_descriptor(&node))?;
                statx_nofollow(held.as_fd(), c"")
            }
        };
        self.backend.apply_times(&node.identity(), stat, &again);
    }
}
