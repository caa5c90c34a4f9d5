//! Taking names away and moving them.

use std::ffi::CStr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use forebay_model::FileId;
use rustix::fs::{AtFlags, RenameFlags, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::packed::At;
use super::space::keeps_its_name;
use super::{Native, Node, Result};
use forebay_os::files::stat_of;

impl Native {
    /// Removes a name that is not a directory's. Tells the number of a file in the record that has
    /// no name any more.
    ///
    /// # Errors
    /// The backing file system's, as the caller.
    pub fn unlink(&self, parent: u64, name: &CStr) -> Result<Option<FileId>> {
        self.remove(parent, name, AtFlags::empty())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// ENOTEMPTY, and the backing file system's, as the caller.
    pub fn rmdir(&self, parent: u64, name: &CStr) -> Result<()> {
        self.remove(parent, name, AtFlags::REMOVEDIR).map(drop)
    }

    fn remove(&self, parent: u64, name: &CStr, flags: AtFlags) -> Result<Option<FileId>> {
        let up = self.node(parent)?;
        let dir = self.dir_fd_of(&up)?;
        let _held = self.hold_name(&up, name);
        if flags.contains(AtFlags::REMOVEDIR) {
            if self.packed_name(&up, dir.as_fd(), name).is_some() {
                return Err(Errno::NOTDIR);
            }
            self.check_empty(dir.as_fd(), name)?;
        } else if let Some(gone) = self.unlink_packed(&up, dir.as_fd(), name)? {
            return Ok(gone);
        }
        let (node, last) = self.pin_before_loss(dir.as_fd(), name).unzip();
        let body = self.placed_before_loss(dir.as_fd(), name, node.as_ref());
        let _change = self.changing(&up, Some(name));
        unlinkat(dir.as_fd(), name, flags).inspect_err(|_| {
            keeps_its_name(node.as_deref());
            self.keep_body(&body);
        })?;
        if up.is_watched() {
            self.gone.note(parent, name);
        }
        let gone = node.filter(|node| !node.gone_from(parent, name) && last == Some(true));
        if let Some(body) = body {
            self.drop_body(body, false);
        }
        if let Some(gone) = &gone {
            self.give_space_back(gone);
        }
        Ok(gone.and_then(|node| node.file()))
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
        let _held = self.hold_names((&dir, name), (&new_dir, new_name));
        let from = At { dir: &dir, fd: fd.as_fd(), name };
        let to = At { dir: &new_dir, fd: new_fd.as_fd(), name: new_name };
        match self.rename_packed(from, to, flags)? {
            Some(moved) => Ok(moved),
            None => self.rename_in_place(from, to, flags),
        }
    }

    /// The rule of a file's new name is for whoever moves files, when nobody uses it.
    fn renamed(&self, node: &Node) {
        if node.is_dir() || self.tiers.is_none() {
            return;
        }
        node.renamed.store(true, Relaxed);
        if !node.open.lock().shared.is_open() {
            self.may_belong_elsewhere(node);
        }
    }

    /// The same, where no packed name takes part.
    pub(super) fn rename_in_place(
        &self,
        from: At<'_>,
        to: At<'_>,
        flags: u32,
    ) -> Result<Option<Arc<Node>>> {
        let _changes =
            [self.changing(from.dir, Some(from.name)), self.changing(to.dir, Some(to.name))];
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
        let moved = stat_of(from.as_fd(), name).ok().and_then(|stat| {
            self.table.find(forebay_os::files::FileIdentity::of(&stat)).map(|node| (node, stat))
        });
        if let Some((node, _)) = &moved {
            self.disturb(node);
        }
        let (replaced, last) = self.pin_before_loss(to.as_fd(), new_name).unzip();
        let exchanged = flags & RenameFlags::EXCHANGE.bits() != 0;
        // A name that is moved onto itself loses nothing. The kernel does not ask for that.
        let itself = moved
            .as_ref()
            .is_some_and(|(node, _)| replaced.as_ref().is_some_and(|other| other.id == node.id));
        let body = match exchanged || itself {
            true => None,
            false => self.placed_before_loss(to.as_fd(), new_name, replaced.as_ref()),
        };
        let renamed = match flags {
            0 => renameat(from, name, to, new_name),
            _ => renameat_with(from, name, to, new_name, RenameFlags::from_bits_retain(flags)),
        };
        renamed.inspect_err(|_| {
            keeps_its_name(replaced.as_deref());
            self.keep_body(&body);
        })?;
        if exchanged {
            keeps_its_name(replaced.as_deref());
        }
        if is_watched && !exchanged {
            self.gone.note(parent, name);
        }
        self.gone.is_back(new_parent, new_name);
        if let Some(body) = body {
            self.drop_body(body, true);
        }
        if let Some(node) = &replaced {
            node.gone_from(new_parent, new_name);
            if exchanged {
                node.seen_at(parent, name, 2);
                node.rename_known();
                self.renamed(node);
            } else if !itself && last == Some(true) {
                self.give_space_back(node);
            }
        }
        let mut known = None;
        if let Some((node, stat)) = moved {
            // Renaming one hard link over another of the same file leaves both in place.
            if replaced.as_ref().is_none_or(|other| other.id != node.id) {
                node.gone_from(parent, name);
            }
            node.seen_at(new_parent, new_name, stat.stx_nlink);
            if node.is_dir() {
                // Its own time of change is another.
                drop(self.changing(&node, None));
                self.renames.fetch_add(1, Relaxed);
            }
            self.renamed(&node);
            known = Some(node);
        }
        if replaced.is_some_and(|node| node.is_dir()) && exchanged {
            self.renames.fetch_add(1, Relaxed);
        }
        Ok(known)
    }
}
