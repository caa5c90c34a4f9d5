//! Making a file where its rule sends it.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{Mode, symlinkat};
use rustix::io::Errno;

use super::create::CreateReply;
use super::tiered_view::device_and_inode;
use super::{CreateMode, Native, Node, ResolvedName, Result};
use crate::tiers::{CreatorKey, PlacementDecision, TieredFile, merged_attributes};
use forebay_os::credentials::set_umask;
use forebay_os::file_identity::{device_number, proc_fd_path, statx_nofollow};

impl Native {
    /// Makes a file where its rule sends it; `None` when it belongs in place, or has to stay there.
    ///
    /// The body comes first, then the link: a kill between the two leaves a body without a name,
    /// which `forebay restore` finds.
    pub(super) fn create_tiered_file(
        &self,
        dir: &Arc<Node>,
        name: &CStr,
        flags: u32,
        permissions: CreateMode,
        thread: u32,
    ) -> Result<Option<(CreateReply, Arc<Node>)>> {
        let Some(tiers) = &self.tiers else { return Ok(None) };
        let path = self.child_path(dir, name);
        let spot = tiers.choose_placement(&path, || self.task_of_thread(thread))?;
        let Some(PlacementDecision { room: number, rule, task }) = spot else { return Ok(None) };
        let up = self.dir_fd_of(dir)?;
        let Some(directory) =
            self.stat_dir_without_acl(dir, up.as_fd(), || inherits_acl(up.as_fd()))?
        else {
            // Only the file system in place knows what the new file would inherit.
            return Ok(None);
        };
        if device_number(&directory) != self.table.device() {
            // A part of the file system with a device number of its own, which the way home does
            // not enter.
            return Ok(None);
        }
        if rule.layout.is_packed() && tiers.has_pack_on(number) {
            let made = self.create_packed(dir, &directory, name, rule, flags, permissions)?;
            if let Some(packed) = made.as_ref().and_then(|(_, node)| node.packed.get()) {
                tiers.remember_creator(CreatorKey::Packed(packed.ino), task);
            }
            return Ok(made);
        }
        if rule.layout.is_packed() {
            return tiers.spill_or_fail(rule, || "the packed files could not be begun".to_owned());
        }
        let room = tiers.tier_directory_at(number);
        set_umask(permissions.umask)?;
        let mode = Mode::from_raw_mode(permissions.mode & 0o7777);
        let how = self.backing_open_flags(flags);
        let (file, key) = match self
            .with_free_descriptors(|| room.create_data_file(name, how, mode))
        {
            Ok(made) => made,
            Err(
                error @ (Errno::NOSPC | Errno::DQUOT | Errno::ROFS | Errno::ACCESS | Errno::NOENT),
            ) => {
                let why = || format!("tier {} refuses new files: {error}", room.tier);
                return tiers.spill_or_fail(rule, why);
            }
            Err(other) => return Err(other),
        };
        let body = statx_nofollow(file.as_fd(), c"")?;
        let inherits_group = u32::from(directory.stx_mode) & libc::S_ISGID != 0;
        if inherits_group && directory.stx_gid != body.stx_gid {
            let _ = room.remove_data_file(&key);
            return Ok(None);
        }
        let _change = self.begin_change(dir, Some(name));
        match symlinkat(room.link_target(&key), &up, name) {
            Ok(()) => {}
            Err(error) => {
                let _ = room.remove_data_file(&key);
                return match error {
                    // Somebody was faster, from outside: the kernel is to look again.
                    Errno::EXIST if self.resolve_name(up.as_fd(), name)?.placed.is_some() => {
                        Err(Errno::STALE)
                    }
                    Errno::EXIST => Ok(None),
                    // A file system without links.
                    Errno::PERM | Errno::OPNOTSUPP => tiers
                        .spill_or_fail(rule, || format!("links can't be made in place: {error}")),
                    other => Err(other),
                };
            }
        }
        let link = statx_nofollow(up.as_fd(), name)?;
        let placed = Arc::new(TieredFile::new(number, key));
        tiers.remember_creator(placed.creator_key(), task);
        let stat = merged_attributes(&link, &body);
        let seen = ResolvedName {
            stat,
            placed: Some(placed),
            packed: None,
            body: device_and_inode(&body),
        };
        let (entry, node) = self.reference_entry(dir, name, seen, dir.is_watched());
        let opened = self.register_open(&node, file, flags, &body)?;
        Ok(Some((CreateReply { entry, opened }, node)))
    }
}

/// Whether new files in a directory get an access control list from it (acl(5)).
pub(super) fn inherits_acl(dir: BorrowedFd<'_>) -> bool {
    let path = proc_fd_path(dir);
    // SAFETY: two strings that live across the call; no buffer, so nothing is written.
    let length = unsafe {
        libc::getxattr(path.as_ptr(), c"system.posix_acl_default".as_ptr(), std::ptr::null_mut(), 0)
    };
    length > 0
}
