//! Making packed files safe from power failure.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::Fsync;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::Packed;
use crate::native::{Handle, Native, Node, Result, reopen};

impl Native {
    /// fsync(2): the bytes and the names, once and for all that is packed.
    pub(in crate::native) fn fsync_packed(&self, handle: &Handle, packed: &Packed) -> Result<()> {
        let (Some(pack), Some(tiers)) = (self.pack(), self.tiers()) else {
            return Err(Errno::STALE);
        };
        let path = self.path_of(&handle.node);
        if tiers.rule(&path).is_some_and(|rule| rule.fsync == Fsync::Scratch) {
            return Ok(());
        }
        self.wardrobe.undress();
        if let Some(used) = &mut *packed.in_use.lock() {
            self.settle_packed(packed, used, true)?;
            pack.sync_body(packed.ino, &used.work)?;
        }
        pack.sync()?;
        // Its directory is one in place.
        if let Some((parent, _)) = handle.node.name() {
            let dir = self.node(parent)?;
            if !dir.named.swap(true, Relaxed) {
                let fd = self.dir_fd_of(&dir)?;
                rustix::fs::fsync(reopen(fd.as_fd(), OFlags::RDONLY | OFlags::DIRECTORY)?)?;
            }
        }
        Ok(())
    }

    /// Makes the bytes of a large file safe.
    pub(super) fn sync_bytes(&self, node: &Node) -> Result<()> {
        let (Some(packed), Some(pack)) = (node.packed.get(), self.pack()) else { return Ok(()) };
        match &*packed.in_use.lock() {
            Some(used) => pack.sync_body(packed.ino, &used.work),
            None => match pack.apart(packed.ino)? {
                Some(work) => pack.sync_body(packed.ino, &work),
                None => Ok(()),
            },
        }
    }

    /// A write through a handle that was opened to write safely (`O_SYNC`, `O_DSYNC`).
    pub(in crate::native) fn sync_if_asked(&self, handle: &Handle, packed: &Packed) -> Result<()> {
        let flags = rustix::fs::fcntl_getfl(&handle.file)?;
        match flags.intersects(OFlags::DSYNC | OFlags::SYNC) {
            true => self.fsync_packed(handle, packed),
            false => Ok(()),
        }
    }

    /// Makes packed names safe, for whoever makes a directory safe.
    pub(crate) fn sync_pack(&self) -> Result<()> {
        match self.pack() {
            Some(pack) if !pack.is_safe() => pack.sync(),
            _ => Ok(()),
        }
    }
}
