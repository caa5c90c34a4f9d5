//! Bytes of files that are in a bucket: they come before they are read or changed.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::Statx;

use super::super::{Handle, Native, Node, Opened, Result};
use crate::bucket::{Body, Modified};
use forebay_os::files::{FileIdentity, stat_of};

impl Native {
    /// The body of a file that was opened, if its bytes are not all here.
    pub(in crate::native) fn body_of(
        &self,
        stat: &Statx,
        file: BorrowedFd<'_>,
    ) -> Result<Option<Arc<Body>>> {
        let identity = FileIdentity::of(stat);
        match (&self.mirror, &self.prefix, &self.follow) {
            (Some(mirror), ..) => {
                self.credentials.as_daemon(|| mirror.bodies.open(&identity, file))
            }
            (_, Some(prefix), _) => self.credentials.as_daemon(|| prefix.body(&identity, file)),
            (.., Some(follow)) => self.credentials.as_daemon(|| follow.body(&identity, file)),
            (None, None, None) => Ok(None),
        }
    }

    /// Bytes of a file are about to be read, or are read before others are written.
    pub(in crate::native) fn bring(&self, handle: &Handle, offset: u64, length: u64) -> Result<()> {
        match (self.bodies(), &handle.body) {
            (Some(bodies), Some(body)) if !body.is_whole() => {
                let bring = || bodies.read(body, offset..offset + length);
                self.given_room(|| self.credentials.as_daemon(bring))
            }
            _ => Ok(()),
        }
    }

    /// Does what brings bytes; where the disk is full, others' give room.
    fn given_room<T>(&self, bring: impl Fn() -> Result<T>) -> Result<T> {
        match &self.mirror {
            Some(mirror) => mirror.with_room(bring),
            None => bring(),
        }
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
        if let (Some(mirror), Some(body)) = (&self.mirror, &handle.body) {
            if !body.is_whole() {
                self.given_room(|| self.credentials.as_daemon(|| mirror.bodies.fill(body)))?;
            }
            body.changes();
        }
        Ok(())
    }

    /// The same of a file whose size or times are about to be set.
    pub(in crate::native) fn bring_before(&self, node: &Arc<Node>) -> Result<()> {
        if let (Some(mirror), Some(body)) = (&self.mirror, self.body_before(node)?) {
            self.given_room(|| self.credentials.as_daemon(|| mirror.bodies.fill(&body)))?;
            body.changes();
        }
        Ok(())
    }

    /// Empties a file, of which no bytes need come for that.
    pub(in crate::native) fn empty(
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
    pub(in crate::native) fn body_before(&self, node: &Arc<Node>) -> Result<Option<Arc<Body>>> {
        let Some(mirror) = self.mirror.as_ref() else { return Ok(None) };
        mirror.marks.is_written(node.identity());
        if !mirror.bodies.is_away(&node.identity()) {
            return Ok(None);
        }
        let held = self.hold(node)?;
        self.credentials.as_daemon(|| mirror.bodies.open(&node.identity(), held.as_fd()))
    }

    /// A file that is open loses a name: its object may go with the next cut, and its bytes come
    /// before. Nobody waits for them here, where the kernel holds the directory.
    pub(in crate::native) fn bring_before_loss(&self, node: &Node) {
        let body = node.open.lock().handles.iter().find_map(|handle| handle.body.clone());
        if let (Some(mirror), Some(body)) = (&self.mirror, body) {
            self.credentials.as_daemon(|| mirror.bodies.is_losing(&body));
        }
    }

    /// The last open of a file is over.
    pub(in crate::native) fn close_body(&self, handle: &Handle) {
        if let (Some(bodies), Some(body)) = (self.bodies(), &handle.body) {
            bodies.close(&handle.node.identity(), body);
        }
    }

    /// Bytes that come or go change no times that programs see, and decoded ones have no length here.
    /// `file`: a descriptor of it, if there is one.
    pub(crate) fn own_attributes(
        &self,
        node: &Node,
        stat: &mut Statx,
        file: Option<BorrowedFd<'_>>,
    ) {
        self.as_long_as_shown(stat);
        let Some(bodies) = self.bodies() else { return };
        match bodies.own_modification_time(&node.identity()) {
            None => {}
            Some(Modified::At(mtime)) => {
                (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec) = (mtime.sec, mtime.nsec);
            }
            // What was read may be from before they had all come.
            Some(Modified::LookAgain) => {
                let now = match file {
                    Some(file) => stat_of(file, c""),
                    None => self.node(node.id).and_then(|node| {
                        self.hold(&node).and_then(|held| stat_of(held.as_fd(), c""))
                    }),
                };
                stat.stx_mtime = now.map_or(stat.stx_mtime, |now| now.stx_mtime);
            }
        }
    }
}
