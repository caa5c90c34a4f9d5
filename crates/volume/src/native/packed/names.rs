//! Names of packed files: found, made, linked, removed.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use forebay_model::FileId;
use rustix::io::Errno;

use super::{At, Packed};
use crate::native::folder::Right;
use crate::native::{Entry, Native, Node, Result, Seen};
use forebay_os::files::{FileIdentity, stat_of};
use forebay_packlog::{DirKey, Found, Pack};

impl Native {
    /// The pack, and what it knows a directory by; directories on other file systems have no
    /// packed files.
    pub(in crate::native) fn pack_of(&self, dir: &Node) -> Option<(&Arc<Pack>, DirKey)> {
        let pack = self.pack()?;
        let FileIdentity { device, inode, born } = dir.identity();
        (device == self.table.device()).then_some((pack, DirKey { inode, born }))
    }

    /// What a name leads to, packed or in place.
    pub(crate) fn look_in(&self, dir: &Node, fd: BorrowedFd<'_>, name: &CStr) -> Result<Seen> {
        if self.pack().is_none() {
            return self.look_known(dir, fd, name);
        }
        match self.packed_name(dir, fd, name) {
            Some(found) => {
                self.check(dir, fd, Right::Search)?;
                self.seen_packed(&found)
            }
            None => {
                let seen = self.look_known(dir, fd, name)?;
                if let Some(pack) = self.pack() {
                    pack.seen(forebay_packlog::Time::of(&seen.stat.stx_mtime));
                }
                Ok(seen)
            }
        }
    }

    pub(super) fn packed_node(&self, found: &Found) -> Option<Arc<Node>> {
        self.table.get(found.ino)
    }

    fn seen_packed(&self, found: &Found) -> Result<Seen> {
        let known = self.packed_node(found).and_then(|node| node.packed.get().cloned());
        let packed = known.unwrap_or_else(|| Arc::new(Packed::new(found.ino)));
        let stat = self.stat_packed(&packed)?;
        Ok(Seen { stat, placed: None, packed: Some(packed), body: (0, 0) })
    }

    /// Gives a packed file one more name.
    pub(in crate::native) fn link_packed(
        &self,
        node: &Arc<Node>,
        packed: &Packed,
        parent: u64,
        name: &CStr,
    ) -> Result<Entry> {
        let dir = self.node(parent)?;
        // Into a directory where nothing is packed.
        let (pack, key) = self.pack_of(&dir).ok_or(Errno::XDEV)?;
        let up = self.dir_fd_of(&dir)?;
        self.check(&dir, up.as_fd(), Right::Change)?;
        if self.stat_in(&dir, up.as_fd(), name).is_ok() {
            return Err(Errno::EXIST);
        }
        if pack.attr(packed.ino)?.1 == 0 {
            return Err(Errno::NOENT);
        }
        self.sync_before_naming_packed(packed.ino)?;
        self.settle_now(node)?;
        let now = pack.now();
        pack.link(packed.ino, key, || self.path_of(&dir), name.to_bytes(), now)?;
        self.touch_dir(&dir, up.as_fd());
        let seen = self.look_in(&dir, up.as_fd(), name)?;
        Ok(self.entry(&dir, name, seen, dir.is_watched()).0)
    }

    /// Removes a packed name; `None` when it is none.
    pub(in crate::native) fn unlink_packed(
        &self,
        dir: &Arc<Node>,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<Option<Option<FileId>>> {
        let Some(found) = self.packed_name(dir, fd, name) else { return Ok(None) };
        let Some((pack, key)) = self.pack_of(dir) else { return Ok(None) };
        self.check(dir, fd, Right::Change)?;
        // What a rename was to remove, and did not come to; or what was made early.
        self.unhide(At { dir, fd, name }, &found)?;
        pack.remove(key, name.to_bytes(), pack.now())?;
        let gone = self.lost(&found, dir.id, name);
        self.touch_dir(dir, fd);
        Ok(Some(gone))
    }

    /// A packed file has lost a name. Tells its number in the record if that was the last.
    pub(super) fn lost(&self, found: &Found, parent: u64, name: &CStr) -> Option<FileId> {
        match self.packed_node(found) {
            Some(node) => (!node.gone_from(parent, name)).then(|| node.file()).flatten(),
            // Nobody will tell when nobody uses it any more.
            None => {
                if let Some(pack) = self.pack() {
                    pack.forget(found.ino);
                }
                None
            }
        }
    }

    /// A directory with packed names is not empty.
    pub(in crate::native) fn check_empty(&self, fd: BorrowedFd<'_>, name: &CStr) -> Result<()> {
        let Some(pack) = self.pack() else { return Ok(()) };
        match stat_of(fd, name) {
            Ok(stat) if pack.has_names(DirKey::of(&stat)) => Err(Errno::NOTEMPTY),
            _ => Ok(()),
        }
    }
}

/// Whether a name in place leads to this file.
pub(in crate::native) fn is_there(fd: BorrowedFd<'_>, name: &CStr, key: DirKey) -> bool {
    stat_of(fd, name).is_ok_and(|stat| DirKey::of(&stat) == key)
}
