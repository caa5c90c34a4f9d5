//! Taking names away and moving them.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::FileId;
use rustix::fs::{AtFlags, RenameFlags, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::packed::NameInDirectory;
use super::space_release::unpin_kept_file;
use super::{Native, Node, Result};
use forebay_os::file_identity::statx_nofollow;

impl Native {
    /// Removes a name that is not a directory's. Tells the number of a file in the record that has
    /// no name any more.
    ///
    /// # Errors
    /// The backing file system's, as the caller.
    pub fn unlink(&self, parent: u64, name: &CStr) -> Result<Option<FileId>> {
        self.remove_entry(parent, name, AtFlags::empty())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// ENOTEMPTY, and the backing file system's, as the caller.
    pub fn rmdir(&self, parent: u64, name: &CStr) -> Result<()> {
        self.remove_entry(parent, name, AtFlags::REMOVEDIR).map(drop)
    }

    fn remove_entry(&self, parent: u64, name: &CStr, flags: AtFlags) -> Result<Option<FileId>> {
        let up = self.node(parent)?;
        let dir = self.dir_fd_of(&up)?;
        let _held = self.lock_name(&up, name);
        if flags.contains(AtFlags::REMOVEDIR) {
            if self.find_packed_name(&up, dir.as_fd(), name).is_some() {
                return Err(Errno::NOTDIR);
            }
            self.check_no_packed_names(dir.as_fd(), name)?;
        } else if let Some(gone) = self.unlink_packed(&up, dir.as_fd(), name)? {
            return Ok(gone);
        }
        let (node, last) = self.pin_before_unlink(dir.as_fd(), name).unzip();
        let body = self.begin_tiered_unlink(dir.as_fd(), name, node.as_ref());
        let _change = self.begin_change(&up, Some(name));
        unlinkat(dir.as_fd(), name, flags).inspect_err(|_| {
            unpin_kept_file(node.as_deref());
            self.cancel_tiered_unlink(&body);
        })?;
        if up.is_watched() {
            self.gone.note_removed(parent, name);
        }
        let gone = node.filter(|node| !node.remove_name(parent, name) && last == Some(true));
        if let Some(body) = body {
            self.finish_tiered_unlink(body, false);
        }
        if let Some(gone) = &gone {
            self.free_space_when_closed(gone);
        }
        Ok(gone.and_then(|node| node.recorded_file_id()))
    }

    /// Moves a name, over another if there is one, in one step. Tells what was moved, if known.
    ///
    /// # Errors
    /// EXDEV across file systems (also into a submount), EEXIST with `NOREPLACE`.
    pub(crate) fn rename(
        &self,
        parent: u64,
        name: &CStr,
        new_parent: u64,
        new_name: &CStr,
        flags: u32,
    ) -> Result<Option<Arc<Node>>> {
        let (dir, new_dir) = (self.node(parent)?, self.node(new_parent)?);
        let (fd, new_fd) = (self.dir_fd_of(&dir)?, self.dir_fd_of(&new_dir)?);
        let _held = self.lock_two_names((&dir, name), (&new_dir, new_name));
        let from = NameInDirectory { dir: &dir, fd: fd.as_fd(), name };
        let to = NameInDirectory { dir: &new_dir, fd: new_fd.as_fd(), name: new_name };
        match self.rename_packed(from, to, flags)? {
            Some(moved) => Ok(moved),
            None => self.rename_in_place(from, to, flags),
        }
    }

    /// The rule of a file's new name is for whoever moves files, when nobody uses it.
    fn note_renamed(&self, node: &Node) {
        if node.is_dir() || self.tiers.is_none() {
            return;
        }
        node.renamed.store(true, Relaxed);
        if !node.open.lock().shared.is_open() {
            self.queue_if_misplaced(node);
        }
    }

    /// The same, where no packed name takes part.
    pub(super) fn rename_in_place(
        &self,
        from: NameInDirectory<'_>,
        to: NameInDirectory<'_>,
        flags: u32,
    ) -> Result<Option<Arc<Node>>> {
        let _changes = [
            self.begin_change(from.dir, Some(from.name)),
            self.begin_change(to.dir, Some(to.name)),
        ];
        let (parent, name, new_parent, new_name) = (from.dir.id, from.name, to.dir.id, to.name);
        let is_watched = from.dir.is_watched();
        let (from, to) = (from.fd, to.fd);
        if let Some(tiers) = &self.tiers {
            tiers.sync_before_naming(from, name)?;
            if flags & RenameFlags::EXCHANGE.bits() != 0 {
                // Both get a name.
                tiers.sync_before_naming(to, new_name)?;
            }
        }
        let moved = statx_nofollow(from.as_fd(), name).ok().and_then(|stat| {
            self.table
                .find_by_identity(forebay_os::file_identity::FileIdentity::from_statx(&stat))
                .map(|node| (node, stat))
        });
        if let Some((node, _)) = &moved {
            self.cancel_migration(node);
        }
        let (replaced, last) = self.pin_before_unlink(to.as_fd(), new_name).unzip();
        let exchanged = flags & RenameFlags::EXCHANGE.bits() != 0;
        // A name that is moved onto itself loses nothing. The kernel does not ask for that.
        let itself = moved
            .as_ref()
            .is_some_and(|(node, _)| replaced.as_ref().is_some_and(|other| other.id == node.id));
        let body = match exchanged || itself {
            true => None,
            false => self.begin_tiered_unlink(to.as_fd(), new_name, replaced.as_ref()),
        };
        let renamed = match flags {
            0 => renameat(from, name, to, new_name),
            _ => renameat_with(from, name, to, new_name, RenameFlags::from_bits_retain(flags)),
        };
        renamed.inspect_err(|_| {
            unpin_kept_file(replaced.as_deref());
            self.cancel_tiered_unlink(&body);
        })?;
        if exchanged {
            unpin_kept_file(replaced.as_deref());
        }
        if is_watched && !exchanged {
            self.gone.note_removed(parent, name);
        }
        self.gone.note_recreated(new_parent, new_name);
        if let Some(body) = body {
            self.finish_tiered_unlink(body, true);
        }
        if let Some(node) = &replaced {
            node.remove_name(new_parent, new_name);
            if exchanged {
                node.note_name(parent, name, 2);
                node.invalidate_recorded_path();
                self.note_renamed(node);
            } else if !itself && last == Some(true) {
                self.free_space_when_closed(node);
            }
        }
        let mut known = None;
        if let Some((node, stat)) = moved {
            // Renaming one hard link over another of the same file leaves both in place.
            if replaced.as_ref().is_none_or(|other| other.id != node.id) {
                node.remove_name(parent, name);
            }
            node.note_name(new_parent, new_name, stat.stx_nlink);
            if node.is_dir() {
                // Its own time of change is another.
                drop(self.begin_change(&node, None));
                self.renames.fetch_add(1, Relaxed);
            }
            self.note_renamed(&node);
            known = Some(node);
        }
        if replaced.is_some_and(|node| node.is_dir()) && exchanged {
            self.renames.fetch_add(1, Relaxed);
        }
        Ok(known)
    }
}
