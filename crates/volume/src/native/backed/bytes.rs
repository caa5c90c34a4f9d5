//! Bytes of files that are elsewhere: they come before they are read or changed.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::Statx;
use rustix::io::Errno;

use super::super::{Handle, Native, Node, Opened, Result};
use crate::backend::Source;
use forebay_os::files::{FileIdentity, stat_of};

/// How often bytes are brought where the disk is full, each time after others' have given room.
const TRIES: usize = 4;

impl Native {
    /// Where the bytes of a file that was opened come from, if they are not all here.
    pub(in crate::native) fn source_of(
        &self,
        file: &FileIdentity,
        descriptor: BorrowedFd<'_>,
    ) -> Result<Option<Arc<dyn Source>>> {
        if self.backend.is_in_place() {
            return Ok(None);
        }
        self.credentials.as_daemon(|| Arc::clone(&self.backend).open(file, descriptor))
    }

    /// Bytes of a file are about to be read, or are read before others are written.
    pub(in crate::native) fn bring(&self, handle: &Handle, offset: u64, length: u64) -> Result<()> {
        match &handle.source {
            Some(source) if !source.is_whole() => {
                self.given_room(|| self.credentials.as_daemon(|| source.bring(offset, length)))
            }
            _ => Ok(()),
        }
    }

    /// Reads bytes that no descriptor has; `None`: the file's has them.
    pub(in crate::native) fn read_elsewhere(
        &self,
        handle: &Handle,
        offset: u64,
        buffer: &mut [u8],
    ) -> Option<Result<usize>> {
        let source = handle.source.as_ref().filter(|source| source.own_length().is_some())?;
        Some(self.credentials.as_daemon(|| source.read(offset, buffer)))
    }

    /// Does what brings bytes; where the disk is full, others' give room.
    fn given_room<T>(&self, bring: impl Fn() -> Result<T>) -> Result<T> {
        for _ in 1..TRIES {
            match bring() {
                Err(Errno::NOSPC) if self.backend.makes_room() => {}
                done => return done,
            }
        }
        bring()
    }

    /// Opens a file as [`Native::open_now`] does; the bytes of a small one come with it.
    ///
    /// # Errors
    /// As said there.
    pub(crate) fn open(&self, id: u64, flags: u32) -> Result<(Opened, Arc<Node>)> {
        self.given_room(|| self.open_now(id, flags))
    }

    /// A file is about to be written: all of it is to be here.
    pub(in crate::native) fn bring_all(&self, handle: &Handle) -> Result<()> {
        handle.source.as_ref().map_or(Ok(()), |source| self.bring_to_change(&**source))
    }

    /// The same of a file whose size or times are about to be set.
    pub(in crate::native) fn bring_before(&self, node: &Arc<Node>) -> Result<()> {
        match self.source_before(node)? {
            Some(source) => self.bring_to_change(&*source),
            None => Ok(()),
        }
    }

    fn bring_to_change(&self, source: &dyn Source) -> Result<()> {
        if !source.is_whole() {
            self.given_room(|| self.credentials.as_daemon(|| source.bring_all()))?;
        }
        source.is_changed();
        Ok(())
    }

    /// Where the bytes come from of a file that is about to be changed by its name.
    pub(in crate::native) fn source_before(
        &self,
        node: &Arc<Node>,
    ) -> Result<Option<Arc<dyn Source>>> {
        let file = node.identity();
        self.backend.bytes_change(file);
        if !self.backend.is_away(&file) {
            return Ok(None);
        }
        let held = self.hold(node)?;
        self.source_of(&file, held.as_fd())
    }

    /// A file that is open loses a name: where it is kept, its bytes may go soon, and they come
    /// before. Nobody waits for them here, where the kernel holds the directory.
    pub(in crate::native) fn bring_before_loss(&self, node: &Node) {
        let source = node.open.lock().handles.iter().find_map(|handle| handle.source.clone());
        if let Some(source) = source {
            self.credentials.as_daemon(|| source.loses_a_name());
        }
    }

    /// The last open of a file is over.
    pub(in crate::native) fn close_source(&self, handle: &Handle) {
        handle.source.iter().for_each(|source| source.close());
    }

    /// Bytes that come or go change no times that programs see, and decoded ones have no length here.
    /// `file`: a descriptor of it, if there is one.
    pub(crate) fn own_attributes(
        &self,
        node: &Node,
        stat: &mut Statx,
        file: Option<BorrowedFd<'_>>,
    ) {
        self.backend.give_length(stat);
        let again = || match file {
            Some(file) => stat_of(file, c""),
            None => {
                let held = self.node(node.id).and_then(|node| self.hold(&node))?;
                stat_of(held.as_fd(), c"")
            }
        };
        self.backend.give_times(&node.identity(), stat, &again);
    }
}
