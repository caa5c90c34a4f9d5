//! A directory that stands for a volume in a bucket (`bucket`): it is told what changes, and asked
//! for bytes that are not here.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::Statx;

use super::{Handle, Identity, Native, Node, Result};
use crate::bucket::{Body, Inside, Mirror, joined};

/// Names of extended attributes that are ours begin so; programs don't see them.
pub(super) const OURS: &[u8] = b"user.forebay.";

impl Native {
    /// Says that the directory stands for a volume in a bucket.
    #[must_use]
    pub(crate) fn with_mirror(mut self, mirror: Option<Arc<Mirror>>) -> Native {
        self.mirror = mirror;
        self
    }

    pub(crate) fn mirror(&self) -> Option<&Arc<Mirror>> {
        self.mirror.as_ref()
    }

    /// A name in a directory, or with `None` the directory or file itself, is about to be changed.
    pub(super) fn mark(&self, node: &Node, name: Option<&CStr>) -> Option<Inside<'_>> {
        let mirror = self.mirror.as_ref()?;
        let inside = mirror.enter();
        match name {
            Some(name) => mirror.marks.mark(self.path_of(node), name.to_owned()),
            None => self.mark_itself(mirror, node),
        }
        Some(inside)
    }

    fn mark_itself(&self, mirror: &Mirror, node: &Node) {
        // The directory that is the volume is looked at with everything.
        let Some((parent, name)) = node.name() else { return };
        if let Some(parent) = self.table.get(parent) {
            mirror.marks.mark(self.path_of(&parent), name);
        }
    }

    /// A file that may have been written was closed.
    pub(super) fn mark_written(&self, handle: &Handle) {
        if let Some(mirror) = self.mirror.as_ref().filter(|_| handle.writes) {
            let _inside = mirror.enter();
            mirror.marks.is_written(handle.node.identity());
            self.mark_itself(mirror, &handle.node);
        }
    }

    /// A file's bytes are on this machine's disk: it waits for the bucket where that is wanted.
    pub(super) fn sync_written(&self, handle: &Handle) -> Result<()> {
        let Some(mirror) = &self.mirror else { return Ok(()) };
        self.mark_written(handle);
        mirror.sync(&self.path_of(&handle.node), handle.node.identity())
    }

    /// The same of a directory's names: those that a rule says nothing of one by one.
    pub(super) fn sync_names(&self, node: &Node) -> Result<()> {
        let Some(mirror) = &self.mirror else { return Ok(()) };
        let any = joined(&self.path_of(node), b".");
        mirror.sync(&any, node.identity())
    }

    /// Whether a file is open to be written.
    pub(crate) fn is_written(&self, identity: &Identity) -> bool {
        let node = self.table.find(*identity);
        node.is_some_and(|node| node.open.lock().handles.iter().any(|handle| handle.writes))
    }

    /// The body of a file that was opened, if its bytes are not all here.
    pub(super) fn body_of(&self, stat: &Statx, file: BorrowedFd<'_>) -> Result<Option<Arc<Body>>> {
        match &self.mirror {
            Some(mirror) => {
                let identity = Identity::of(stat);
                self.wardrobe.undressed(|| mirror.bodies.open(&identity, file))
            }
            None => Ok(None),
        }
    }

    /// Bytes of a file are about to be read, or are read before others are written.
    pub(super) fn bring(&self, handle: &Handle, offset: u64, length: u64) -> Result<()> {
        match (&self.mirror, &handle.body) {
            (Some(mirror), Some(body)) => mirror.bodies.read(body, offset..offset + length),
            _ => Ok(()),
        }
    }

    /// A file is about to be written: all of it is to be here.
    pub(super) fn bring_all(&self, handle: &Handle) -> Result<()> {
        if let (Some(mirror), Some(body)) = (&self.mirror, &handle.body) {
            if !body.is_whole() {
                mirror.bodies.fill(body)?;
            }
            body.changes();
        }
        Ok(())
    }

    /// The same of a file whose size or times are about to be set.
    pub(super) fn bring_before(&self, node: &Arc<Node>) -> Result<()> {
        if let (Some(mirror), Some(body)) = (&self.mirror, self.body_before(node)?) {
            mirror.bodies.fill(&body)?;
            body.changes();
        }
        Ok(())
    }

    /// Empties a file, of which no bytes need come for that.
    pub(super) fn empty(
        &self,
        body: Option<Arc<Body>>,
        empty: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        match (&self.mirror, body) {
            (Some(mirror), Some(body)) => mirror.bodies.give_up(&body, empty),
            _ => empty(),
        }
    }

    /// The body of a file that is about to be changed by its name.
    pub(super) fn body_before(&self, node: &Arc<Node>) -> Result<Option<Arc<Body>>> {
        let Some(mirror) = self.mirror.as_ref() else { return Ok(None) };
        mirror.marks.is_written(node.identity());
        if !mirror.bodies.is_away(&node.identity()) {
            return Ok(None);
        }
        let held = self.hold(node)?;
        self.wardrobe.undressed(|| mirror.bodies.open(&node.identity(), held.as_fd()))
    }

    /// A file that is open loses its last name: its object goes, and so its bytes come first.
    pub(super) fn bring_before_loss(&self, node: &Node) -> Result<()> {
        let body = node.open.lock().handles.iter().find_map(|handle| handle.body.clone());
        match (&self.mirror, body) {
            (Some(mirror), Some(body)) => mirror.bodies.fill(&body),
            _ => Ok(()),
        }
    }

    /// The last open of a file is over.
    pub(super) fn close_body(&self, handle: &Handle) {
        if let (Some(mirror), Some(body)) = (&self.mirror, &handle.body) {
            mirror.bodies.close(&handle.node.identity(), body);
        }
    }

    /// Bytes that come change no times that programs see.
    pub(crate) fn own_time(&self, node: &Node, stat: &mut Statx) {
        let Some(mirror) = &self.mirror else { return };
        if let Some(mtime) = mirror.bodies.mtime_of(&node.identity()) {
            (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec) = (mtime.sec, mtime.nsec);
        }
    }
}
