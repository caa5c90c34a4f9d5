//! Files that a rule packs, shown as the plain files that programs think they are. Their names and
//! attributes are the pack's (see `packlog`); while one is open, its bytes are in a working file,
//! with which everything goes as with a file in place: passthrough, mappings, locks.

mod attr;
mod closing;
mod from_log;
mod list;
mod make;
mod open;
mod packed_links;
mod packed_lookup;
mod rename;
mod swap;
mod sync;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::packed_file::{OpenWorkingFile, PackedFile, set_working_times};
use super::{Native, Node, Result};
use forebay_packlog::{Attr, Pack, Time};
pub(super) use packed_links::leads_to_file;
pub(super) use rename::NameInDirectory;

/// Set-id bits, which a write takes away.
const SET_ID: u32 = 0o6000;

fn opens_for_writing(flags: OFlags) -> bool {
    flags & OFlags::ACCMODE != OFlags::RDONLY
}

impl Native {
    pub(super) fn pack(&self) -> Option<&Arc<Pack>> {
        self.tiers.as_ref()?.pack()
    }

    /// What the pack has to know of a file's bytes, if they changed.
    fn commit_packed_content(
        &self,
        packed: &PackedFile,
        used: &mut OpenWorkingFile,
        more: bool,
    ) -> Result<()> {
        let pack = self.pack().ok_or(Errno::STALE)?;
        let (attr, links) = pack.attributes_and_links(packed.ino)?;
        if !used.begun || links == 0 {
            // What has no name has no place in the log: its working file stays until it is gone.
            return Ok(());
        }
        let dirty = packed.dirty.swap(false, Relaxed);
        let now = used.stat_working_file().inspect_err(|_| {
            if dirty {
                packed.mark_dirty();
            }
        })?;
        let as_known =
            (attr.size, attr.mtime) == (now.stx_size, Time::from_timestamp(&now.stx_mtime));
        if !dirty && (!packed.has_own_data_file() || as_known) {
            if !more {
                pack.cancel_writing(packed.ino)?;
                used.begun = false;
            }
            return Ok(());
        }
        if attr.mode & used.lost_set_id_bits(&now) != 0 {
            pack.set_attributes(
                packed.ino,
                Attr { mode: attr.mode & !used.lost_set_id_bits(&now), ..attr },
            )?;
        }
        let settled = pack.commit_content_as(packed.ino, &used.work, &now, more);
        if settled.is_err() {
            packed.mark_dirty();
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
    pub(super) fn commit_content_now(&self, node: &Node) -> Result<()> {
        let Some(packed) = node.packed.get() else { return Ok(()) };
        self.credentials.revert();
        match &mut *packed.in_use.lock() {
            Some(used) => self.commit_packed_content(packed, used, true),
            None => Ok(()),
        }
    }

    /// The end: nobody can write any more.
    pub(crate) fn commit_all_content(&self) {
        self.stop_eager_write_back();
        self.set_all_times();
        for node in self.table.packed.awake_nodes() {
            if let Some(packed) = node.packed.get()
                && let Some(used) = &mut *packed.in_use.lock()
            {
                // Its working file has the bytes, and the next run finds them there.
                let done = self.commit_packed_content(packed, used, false);
                if let Err(error) = done {
                    tracing::error!("file {} is not packed: {error}", packed.ino);
                }
            }
        }
    }
}
