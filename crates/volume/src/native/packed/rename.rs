//! Renaming where packed names take part: in one step for whoever looks, and after a kill either
//! not done or done.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, RenameFlags, Statx, unlinkat};
use rustix::io::Errno;

use crate::native::directory_cache::DirectoryRight;
use crate::native::{Native, Node, Result};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::{DirKey, PackedEntry};

/// A name in a directory.
#[derive(Clone, Copy)]
pub(in crate::native) struct NameInDirectory<'a> {
    pub(in crate::native) dir: &'a Arc<Node>,
    pub(in crate::native) fd: BorrowedFd<'a>,
    pub(in crate::native) name: &'a CStr,
}

fn is_dir(mode: u16) -> bool {
    u32::from(mode) & libc::S_IFMT == libc::S_IFDIR
}

impl Native {
    /// Moves a packed name, or something over one; `None` when neither is packed.
    pub(in crate::native) fn rename_packed(
        &self,
        from: NameInDirectory<'_>,
        to: NameInDirectory<'_>,
        flags: u32,
    ) -> Result<Option<Option<Arc<Node>>>> {
        let Some(pack) = self.pack() else { return Ok(None) };
        let one = self.find_packed_name(from.dir, from.fd, from.name);
        let other = self.find_packed_name(to.dir, to.fd, to.name);
        if flags & RenameFlags::NOREPLACE.bits() != 0 && other.is_some() {
            return Err(Errno::EXIST);
        }
        let swap = flags & RenameFlags::EXCHANGE.bits() != 0;
        match (one, other) {
            (None, None) => {
                let moved = statx_nofollow(from.fd, from.name)?;
                if is_dir(moved.stx_mode) && !swap {
                    self.check_no_packed_names(to.fd, to.name)?;
                }
                if !is_dir(moved.stx_mode) && !pack.is_durable() {
                    // A finished file must not be safer than what it was made of.
                    pack.sync()?;
                }
                Ok(None)
            }
            (Some(one), Some(other)) if swap => self.swap_packed(from, &one, to, &other).map(Some),
            // One is in place and one is not: no file system can do that in one step.
            _ if swap => Err(Errno::INVAL),
            (Some(one), other) => self.move_packed(from, &one, to, other.as_ref(), flags).map(Some),
            (None, Some(other)) => self.replace_packed(from, to, &other).map(Some),
        }
    }

    fn move_packed(
        &self,
        from: NameInDirectory<'_>,
        one: &PackedEntry,
        to: NameInDirectory<'_>,
        other: Option<&PackedEntry>,
        flags: u32,
    ) -> Result<Option<Arc<Node>>> {
        let (pack, dir) = self.pack_and_key(from.dir).ok_or(Errno::STALE)?;
        let (_, new) = self.pack_and_key(to.dir).ok_or(Errno::XDEV)?;
        let node = self.packed_node(one);
        if other.is_some_and(|other| other.ino == one.ino) {
            return Ok(node);
        }
        // Where a packed name is, only what it hides is nobody else's.
        let is_hidden = |stat: &Statx| match other {
            Some(other) => other.over == Some(DirKey::from_statx(stat)),
            None => true,
        };
        let in_place = self.stat_unless_absent(to.dir, to.fd, to.name).ok().filter(is_hidden);
        if let Some(stat) = &in_place {
            if flags & RenameFlags::NOREPLACE.bits() != 0 {
                return Err(Errno::EXIST);
            }
            if is_dir(stat.stx_mode) {
                return Err(Errno::ISDIR);
            }
        }
        self.check_directory_right(from.dir, from.fd, DirectoryRight::Change)?;
        self.check_directory_right(to.dir, to.fd, DirectoryRight::Change)?;
        self.sync_before_naming_packed(one.ino)?;
        if let Some(node) = &node {
            // A name is not to be safer than its bytes.
            self.commit_content_now(node)?;
            if other.is_some() || in_place.is_some() {
                // Nor may a replaced file be gone before the bytes of the new one are there.
                self.sync_packed_bytes(node)?;
            }
        }
        self.remove_hidden_file(from, one)?;
        let (now, over) = (pack.timestamp_now(), in_place.as_ref().map(DirKey::from_statx));
        pack.rename(
            (dir, from.name.to_bytes()),
            (new, || self.path_of(to.dir)),
            to.name.to_bytes(),
            now,
            over,
        )?;
        if over.is_some() {
            self.remove_replaced_file(to);
        }
        if let Some(other) = other {
            self.note_name_lost(other, to.dir.id, to.name);
        }
        if let Some(node) = &node {
            node.remove_name(from.dir.id, from.name);
            node.note_name(to.dir.id, to.name, one.links);
            node.invalidate_recorded_path();
        }
        self.touch_both(from, to);
        Ok(node)
    }

    /// Removes the file in place that a packed one has replaced.
    fn remove_replaced_file(&self, at: NameInDirectory<'_>) {
        let node = self.pin_before_unlink(at.fd, at.name).map(|(node, _)| node);
        let body = self.begin_tiered_unlink(at.fd, at.name, node.as_ref());
        let _change = self.begin_change(at.dir, Some(at.name));
        if unlinkat(at.fd, at.name, AtFlags::empty()).is_err() {
            self.cancel_tiered_unlink(&body);
            return;
        }
        if let Some(node) = node {
            node.remove_name(at.dir.id, at.name);
        }
        if let Some(body) = body {
            self.finish_tiered_unlink(body, true);
        }
    }

    /// A file in place over a packed one.
    fn replace_packed(
        &self,
        from: NameInDirectory<'_>,
        to: NameInDirectory<'_>,
        other: &PackedEntry,
    ) -> Result<Option<Arc<Node>>> {
        let (pack, key) = self.pack_and_key(to.dir).ok_or(Errno::STALE)?;
        let moved = statx_nofollow(from.fd, from.name)?;
        if is_dir(moved.stx_mode) {
            return Err(Errno::NOTDIR);
        }
        if !pack.is_durable() {
            pack.sync()?;
        }
        pack.note_replaced_by(key, to.name.to_bytes(), DirKey::from_statx(&moved))?;
        let node = self.rename_in_place(from, to, 0)?;
        // It may have been seen to yield already, and what the log can't take it says by the yield.
        pack.remove_written_back_name(key, to.name.to_bytes());
        self.note_name_lost(other, to.dir.id, to.name);
        Ok(node)
    }

    pub(super) fn touch_both(&self, from: NameInDirectory<'_>, to: NameInDirectory<'_>) {
        self.touch_dir(from.dir, from.fd);
        if from.dir.id != to.dir.id {
            self.touch_dir(to.dir, to.fd);
        }
    }
}
