//! Names of packed files: found, made, linked, removed.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use forebay_model::FileId;
use rustix::io::Errno;

use super::{NameInDirectory, PackedFile};
use crate::native::directory_cache::DirectoryRight;
use crate::native::{Entry, Native, Node, ResolvedName, Result};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};
use forebay_packlog::{DirKey, Pack, PackedEntry};

impl Native {
    /// The pack, and what it knows a directory by; directories on other file systems have no
    /// packed files.
    pub(in crate::native) fn pack_and_key(&self, dir: &Node) -> Option<(&Arc<Pack>, DirKey)> {
        let pack = self.pack()?;
        let FileIdentity { device, inode, born } = dir.identity();
        (device == self.table.device()).then_some((pack, DirKey { inode, born }))
    }

    /// What a name leads to, packed or in place.
    pub(crate) fn resolve_entry(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<ResolvedName> {
        self.resolve_packed_or(dir, fd, name, Native::resolve_cached_name)
    }

    /// The same of a name that was just read in the directory: nothing is asked about its absence.
    pub(crate) fn resolve_listed_entry(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<ResolvedName> {
        self.resolve_packed_or(dir, fd, name, Native::resolve_present_name)
    }

    fn resolve_packed_or(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        name: &CStr,
        in_place: impl FnOnce(&Native, &Node, BorrowedFd<'_>, &CStr) -> Result<ResolvedName>,
    ) -> Result<ResolvedName> {
        let Some(pack) = self.pack() else { return in_place(self, dir, fd, name) };
        match self.find_packed_name(dir, fd, name) {
            Some(found) => {
                self.check_directory_right(dir, fd, DirectoryRight::Search)?;
                self.resolve_packed(&found)
            }
            None => {
                let seen = in_place(self, dir, fd, name)?;
                let time = forebay_packlog::Time::from_timestamp(&seen.stat.stx_mtime);
                pack.note_seen_time(time);
                Ok(seen)
            }
        }
    }

    pub(super) fn packed_node(&self, found: &PackedEntry) -> Option<Arc<Node>> {
        self.table.get(found.ino)
    }

    fn resolve_packed(&self, found: &PackedEntry) -> Result<ResolvedName> {
        let known = self.packed_node(found).and_then(|node| node.packed.get().cloned());
        let packed = known.unwrap_or_else(|| Arc::new(PackedFile::new(found.ino)));
        let stat = self.stat_packed_file(&packed)?;
        Ok(ResolvedName { stat, placed: None, packed: Some(packed), body: (0, 0) })
    }

    /// Gives a packed file one more name.
    pub(in crate::native) fn link_packed(
        &self,
        node: &Arc<Node>,
        packed: &PackedFile,
        parent: u64,
        name: &CStr,
    ) -> Result<Entry> {
        let dir = self.node(parent)?;
        // Into a directory where nothing is packed.
        let (pack, key) = self.pack_and_key(&dir).ok_or(Errno::XDEV)?;
        let up = self.dir_fd_of(&dir)?;
        self.check_directory_right(&dir, up.as_fd(), DirectoryRight::Change)?;
        if self.stat_unless_absent(&dir, up.as_fd(), name).is_ok() {
            return Err(Errno::EXIST);
        }
        if pack.attributes_and_links(packed.ino)?.1 == 0 {
            return Err(Errno::NOENT);
        }
        self.sync_before_naming_packed(packed.ino)?;
        self.commit_content_now(node)?;
        let now = pack.timestamp_now();
        pack.link(packed.ino, key, || self.path_of(&dir), name.to_bytes(), now)?;
        self.touch_dir(&dir, up.as_fd());
        let seen = self.resolve_entry(&dir, up.as_fd(), name)?;
        Ok(self.reference_entry(&dir, name, seen, dir.is_watched()).0)
    }

    /// Removes a packed name; `None` when it is none.
    pub(in crate::native) fn unlink_packed(
        &self,
        dir: &Arc<Node>,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<Option<Option<FileId>>> {
        let Some(found) = self.find_packed_name(dir, fd, name) else { return Ok(None) };
        let Some((pack, key)) = self.pack_and_key(dir) else { return Ok(None) };
        self.check_directory_right(dir, fd, DirectoryRight::Change)?;
        // What a rename was to remove, and did not come to; or what was made early.
        self.remove_hidden_file(NameInDirectory { dir, fd, name }, &found)?;
        pack.remove_name(key, name.to_bytes(), pack.timestamp_now())?;
        let gone = self.note_name_lost(&found, dir.id, name);
        self.touch_dir(dir, fd);
        Ok(Some(gone))
    }

    /// A packed file has lost a name. Tells its number in the record if that was the last.
    pub(super) fn note_name_lost(
        &self,
        found: &PackedEntry,
        parent: u64,
        name: &CStr,
    ) -> Option<FileId> {
        match self.packed_node(found) {
            Some(node) => {
                (!node.remove_name(parent, name)).then(|| node.recorded_file_id()).flatten()
            }
            // Nobody will tell when nobody uses it any more.
            None => {
                if let Some(pack) = self.pack() {
                    pack.forget_inode(found.ino);
                }
                None
            }
        }
    }

    /// A directory with packed names is not empty.
    pub(in crate::native) fn check_no_packed_names(
        &self,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<()> {
        let Some(pack) = self.pack() else { return Ok(()) };
        match statx_nofollow(fd, name) {
            Ok(stat) if pack.has_names(DirKey::from_statx(&stat)) => Err(Errno::NOTEMPTY),
            _ => Ok(()),
        }
    }
}

/// Whether a name in place leads to this file.
pub(in crate::native) fn leads_to_file(fd: BorrowedFd<'_>, name: &CStr, key: DirKey) -> bool {
    statx_nofollow(fd, name).is_ok_and(|stat| DirKey::from_statx(&stat) == key)
}
