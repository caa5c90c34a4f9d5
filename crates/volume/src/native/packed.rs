//! Files that a rule packs, shown as the plain files that programs think they are. Their names and
//! attributes are the pack's (see `pack`); while one is open, its bytes are in a working file, with
//! which everything goes as with a file in place: passthrough, mappings, locks.

mod attr;
mod closing;
mod found;
mod list;
mod make;
mod names;
mod open;
mod rename;
mod swap;
mod sync;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::packed_file::{InUse, Packed, stamp};
use super::{Native, Node, Result};
use forebay_packlog::{Attr, Pack, Time};
pub(super) use names::is_there;
pub(super) use rename::At;

/// Set-id bits, which a write takes away.
const SET_ID: u32 = 0o6000;

fn writes(flags: OFlags) -> bool {
    flags & OFlags::ACCMODE != OFlags::RDONLY
}

impl Native {
    pub(super) fn pack(&self) -> Option<&Arc<Pack>> {
        self.tiers.as_ref()?.pack()
    }

    /// What the pack has to know of a file's bytes, if they changed.
    fn settle_packed(&self, packed: &Packed, used: &mut InUse, more: bool) -> Result<()> {
        let pack = self.pack().ok_or(Errno::STALE)?;
        let (attr, links) = pack.attr(packed.ino)?;
        if !used.begun || links == 0 {
            // What has no name has no place in the log: its working file stays until it is gone.
            return Ok(());
        }
        let now = used.stat()?;
        let dirty = packed.dirty.swap(false, Relaxed);
        let as_known = (attr.size, attr.mtime) == (now.stx_size, Time::of(&now.stx_mtime));
        if !dirty && (!packed.has_body() || as_known) {
            if !more {
                pack.unchanged(packed.ino)?;
                used.begun = false;
            }
            return Ok(());
        }
        if attr.mode & used.lost(&now) != 0 {
            pack.set_attr(packed.ino, Attr { mode: attr.mode & !used.lost(&now), ..attr })?;
        }
        let settled = pack.settle(packed.ino, &used.work, more);
        if settled.is_err() {
            packed.wrote();
        }
        settled?;
        used.begun = more;
        if let Some(tiers) = self.tiers() {
            tiers.charge_pack();
        }
        Ok(())
    }

    /// The pack takes what is written so far: a name that is about to change must not be safer
    /// than its bytes.
    pub(super) fn settle_now(&self, node: &Node) -> Result<()> {
        let Some(packed) = node.packed.get() else { return Ok(()) };
        self.credentials.revert();
        match &mut *packed.in_use.lock() {
            Some(used) => self.settle_packed(packed, used, true),
            None => Ok(()),
        }
    }

    /// The end: nobody can write any more.
    pub(crate) fn settle_all(&self) {
        self.end_early();
        self.set_all_times();
        for node in self.table.packed.all_awake() {
            if let Some(packed) = node.packed.get()
                && let Some(used) = &mut *packed.in_use.lock()
            {
                // Its working file has the bytes, and the next run finds them there.
                let done = self.settle_packed(packed, used, false);
                if let Err(error) = done {
                    tracing::error!("file {} is not packed: {error}", packed.ino);
                }
            }
        }
    }
}
