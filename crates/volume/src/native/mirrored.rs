//! A directory that stands for a volume in a bucket, or for a prefix of one (`bucket`): it is told
//! what changes, and asked for names and bytes that are not here.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use parking_lot::RwLockReadGuard;
use rustix::fs::{Mode, OFlags, Statx, openat};

use super::{Handle, Identity, Native, Node, Result};
use crate::bucket::{Bodies, Body, Inside, Mirror, Prefix, joined};

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

    /// Says that the directory shows a prefix of a bucket.
    #[must_use]
    pub(crate) fn with_prefix(mut self, prefix: Option<Arc<Prefix>>) -> Native {
        self.prefix = prefix;
        self
    }

    pub(crate) fn prefix(&self) -> Option<&Arc<Prefix>> {
        self.prefix.as_ref()
    }

    /// What brings bytes that are not here.
    pub(crate) fn bodies(&self) -> Option<&Arc<Bodies>> {
        let mirrored = self.mirror.as_ref().map(|mirror| &mirror.bodies);
        mirrored.or(self.prefix.as_ref().map(|prefix| &prefix.bodies))
    }

    /// Somebody is about to look into a directory, which may not have been listed.
    pub(super) fn look_into(&self, dir: &Arc<Node>) -> Result<()> {
        let number = dir.identity().inode;
        let prefix = self.prefix.as_ref().filter(|prefix| !prefix.is_listed(number));
        let Some(prefix) = prefix else { return Ok(()) };
        let open = || {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let fd = openat(self.dir_fd_of(dir)?, c".", flags, Mode::empty())?;
            Ok((self.path_of(dir), fd))
        };
        self.wardrobe.undressed(|| prefix.look(number, open))
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

    /// Whether anybody has a file open.
    pub(crate) fn is_open(&self, identity: &Identity) -> bool {
        let node = self.table.find(*identity);
        node.is_some_and(|node| node.open.lock().shared.is_open())
    }

    /// Held while a file is opened: its bytes stay.
    pub(super) fn opening(&self) -> Option<RwLockReadGuard<'_, ()>> {
        self.mirror.as_ref().map(|mirror| mirror.opening.read())
    }

    /// The body of a file that was opened, if its bytes are not all here.
    pub(super) fn body_of(&self, stat: &Statx, file: BorrowedFd<'_>) -> Result<Option<Arc<Body>>> {
        let identity = Identity::of(stat);
        match (&self.mirror, &self.prefix) {
            (Some(mirror), _) => self.wardrobe.undressed(|| mirror.bodies.open(&identity, file)),
            (_, Some(prefix)) => self.wardrobe.undressed(|| prefix.body(&identity, file)),
            (None, None) => Ok(None),
        }
    }

    /// Bytes of a file are about to be read, or are read before others are written.
    pub(super) fn bring(&self, handle: &Handle, offset: u64, length: u64) -> Result<()> {
        match (self.bodies(), &handle.body) {
            (Some(bodies), Some(body)) if !body.is_whole() => {
                let range = offset..offset + length;
                self.wardrobe.undressed(|| bodies.read(body, range))
            }
            _ => Ok(()),
        }
    }

    /// A file is about to be written: all of it is to be here.
    pub(super) fn bring_all(&self, handle: &Handle) -> Result<()> {
        if let (Some(mirror), Some(body)) = (&self.mirror, &handle.body) {
            if !body.is_whole() {
                self.wardrobe.undressed(|| mirror.bodies.fill(body))?;
            }
            body.changes();
        }
        Ok(())
    }

    /// The same of a file whose size or times are about to be set.
    pub(super) fn bring_before(&self, node: &Arc<Node>) -> Result<()> {
        if let (Some(mirror), Some(body)) = (&self.mirror, self.body_before(node)?) {
            self.wardrobe.undressed(|| mirror.bodies.fill(&body))?;
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

    /// A file that is open loses a name: its object may go with the next cut, and its bytes come
    /// before. Nobody waits for them here, where the kernel holds the directory.
    pub(super) fn bring_before_loss(&self, node: &Node) {
        let body = node.open.lock().handles.iter().find_map(|handle| handle.body.clone());
        if let (Some(mirror), Some(body)) = (&self.mirror, body) {
            self.wardrobe.undressed(|| mirror.bodies.is_losing(&body));
        }
    }

    /// The last open of a file is over.
    pub(super) fn close_body(&self, handle: &Handle) {
        if let (Some(bodies), Some(body)) = (self.bodies(), &handle.body) {
            bodies.close(&handle.node.identity(), body);
        }
    }

    /// Bytes that come change no times that programs see.
    pub(crate) fn own_time(&self, node: &Node, stat: &mut Statx) {
        let Some(bodies) = self.bodies() else { return };
        if let Some(mtime) = bodies.mtime_of(&node.identity()) {
            (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec) = (mtime.sec, mtime.nsec);
        }
    }
}
