//! Files that a rule packs, shown as the plain files that programs think they are. Their names and
//! attributes are the pack's (see `pack`); while one is open, its bytes are in a working file, with
//! which everything goes as with a file in place: passthrough, mappings, locks.

mod attr;
mod closing;
mod found;
mod in_use;
mod list;
mod make;
mod names;
mod open;
mod rename;
mod swap;
mod sync;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{Native, Node, Result};
use forebay_packlog::{Attr, Pack, Time};
use in_use::{InUse, stamp};
pub(crate) use list::Listing;
pub(super) use names::is_there;
pub(super) use rename::At;

/// Set-id bits, which a write takes away.
const SET_ID: u32 = 0o6000;

/// A packed file that the kernel knows.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) ino: u64,
    /// Its working file, while anybody has it open.
    in_use: Mutex<Option<InUse>>,
    /// That file is its body, and will not be another's.
    body: AtomicBool,
    /// Bytes were written that the pack does not know. Raised after each write, so whoever lowers it
    /// before reading misses none.
    dirty: AtomicBool,
}

impl Packed {
    pub(super) fn new(ino: u64) -> Packed {
        let (body, dirty) = (AtomicBool::new(false), AtomicBool::new(false));
        Packed { ino, in_use: Mutex::new(None), body, dirty }
    }

    /// Whether nothing of it would be missed: see `native::rest`.
    pub(super) fn is_idle(self: &mut Arc<Packed>) -> bool {
        let mine = Arc::get_mut(self);
        mine.is_some_and(|packed| packed.in_use.get_mut().is_none() && !*packed.dirty.get_mut())
    }

    /// Whether the kernel may be lent the working file. A mapping made in passthrough holds that
    /// file and not ours, so it outlives the last close; a file that is used again must not be
    /// seen through it.
    pub(super) fn has_body(&self) -> bool {
        self.body.load(Relaxed)
    }

    /// Somebody has it open.
    pub(super) fn is_in_use(&self) -> bool {
        self.in_use.lock().is_some()
    }

    /// Bytes were written.
    pub(super) fn wrote(&self) {
        self.dirty.store(true, Relaxed);
    }

    /// Attributes now: the pack's, and the working file's where that is newer.
    fn attr(&self, pack: &Pack) -> Result<(Attr, u32)> {
        let in_use = self.in_use.lock();
        let (mut attr, links) = pack.attr(self.ino)?;
        if let Some(used) = &*in_use {
            let now = used.stat()?;
            let dirty = self.dirty.load(Relaxed);
            if dirty || self.has_body() {
                let (size, mtime) = (now.stx_size, Time::of(&now.stx_mtime));
                let ctime = Time::of(&now.stx_ctime);
                if dirty || (attr.size, attr.mtime) != (size, mtime) || ctime != used.since {
                    attr.ctime = attr.ctime.max(ctime);
                }
                (attr.size, attr.mtime) = (size, mtime);
            }
            // Only those that a write took away.
            attr.mode &= !used.lost(&now);
        }
        Ok((attr, links))
    }
}

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
