//! Attributes: asking for them, changing them, and the answers to access(2) and statfs(2).

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, StatVfs, Statx, Timestamps, Uid, accessat, chmodat, chownat,
    fstatvfs, ftruncate, utimensat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::{Entry, Native, Node, Result};
use forebay_os::file_identity::{proc_fd_path, reopen_with_flags, statx_nofollow};

/// A time to set.
#[derive(Debug, Clone, Copy)]
pub enum TimeOrNow {
    /// The file system's clock at the moment of the change.
    Now,
    /// Seconds and nanoseconds since 1970.
    At(i64, u32),
}

/// Attributes to change; `None` leaves one as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct AttributeChange {
    /// Permission bits with set-id and sticky bits.
    pub mode: Option<u32>,
    /// New owner.
    pub uid: Option<u32>,
    /// New group.
    pub gid: Option<u32>,
    /// New size in bytes.
    pub size: Option<u64>,
    /// New time of last access.
    pub atime: Option<TimeOrNow>,
    /// New time of last modification.
    pub mtime: Option<TimeOrNow>,
    /// The open handle through which the change was asked.
    pub handle: Option<u64>,
}

impl Native {
    /// Attributes of a node, preferably through an open handle.
    ///
    /// # Errors
    /// ESTALE when the file was moved or replaced from outside.
    pub fn getattr(&self, id: u64, fh: Option<u64>) -> Result<(Statx, std::time::Duration)> {
        let node = self.node(id)?;
        if let Some(packed) = node.packed.get() {
            return Ok((self.stat_packed_file(packed)?, self.attr_timeout(&node)));
        }
        let stat = match fh.and_then(|fh| self.handle(fh).ok()) {
            Some(handle) => self.exposed_stat(&node, statx_nofollow(handle.file.as_fd(), c"")?),
            None => self.stat_node(&node)?,
        };
        self.note_reported_stat(&node, &stat);
        Ok((stat, self.attr_timeout(&node)))
    }

    /// Changes attributes, in the order that chown(2) may clear set-id bits and chmod(2) set them.
    ///
    /// # Errors
    /// The backing file system's, as the caller.
    pub fn setattr(&self, id: u64, change: AttributeChange) -> Result<Entry> {
        let node = self.node(id)?;
        if let Some(packed) = node.packed.get() {
            return self.setattr_packed(&node, packed, change);
        }
        let emptied = match (change.size, change.mtime) {
            (Some(0), _) => self.open_source_of_node(&node)?,
            (None, None) => None,
            _ => {
                self.fetch_before_change(&node)?;
                None
            }
        };
        let _alone = self.lock_and_set_times(&node);
        let _change = self.begin_change(&node, None);
        self.cancel_migration(&node);
        match change.size {
            Some(0) => {
                let mut empty = || self.truncate(&node, 0, change.handle);
                match emptied {
                    Some(source) => source.empty_without_fetch(&mut empty)?,
                    None => empty()?,
                }
            }
            Some(size) => self.truncate(&node, size, change.handle)?,
            None => {}
        }
        let held = self.node_descriptor(&node)?;
        let fd = held.as_fd();
        let mut given = None;
        if change.uid.is_some() || change.gid.is_some() {
            let uid = change.uid.map(Uid::from_raw);
            let gid = change.gid.map(Gid::from_raw);
            let before = statx_nofollow(fd, c"")?;
            chownat(fd, c"", uid, gid, AtFlags::EMPTY_PATH)?;
            given = Some((uid, gid, before));
        }
        if let Some(mode) = change.mode {
            chmodat(CWD, proc_fd_path(fd), Mode::from_raw_mode(mode & 0o7777), AtFlags::empty())?;
            if node.is_dir() && !self.is_shared() {
                // Nobody but us checks who may search this directory, so the kernel must ask.
                self.invalidate_directory(&node);
            }
        }
        if change.atime.is_some() || change.mtime.is_some() {
            let times = Timestamps {
                last_access: to_timespec(change.atime),
                last_modification: to_timespec(change.mtime),
            };
            match utimensat(fd, c"", &times, AtFlags::EMPTY_PATH) {
                // Kernels before 5.8 know no empty path here.
                Err(Errno::INVAL) => utimensat(CWD, proc_fd_path(fd), &times, AtFlags::empty())?,
                other => other?,
            }
        }
        if let Some((uid, gid, before)) = given
            && let Err(error) = self.chown_link(&node, uid, gid)
        {
            // Both have one owner, or the file is not seen any more.
            let (uid, gid) = (Uid::from_raw(before.stx_uid), Gid::from_raw(before.stx_gid));
            chownat(fd, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
            return Err(error);
        }
        let stat = self.exposed_stat(&node, statx_nofollow(fd, c"")?);
        self.note_reported_stat(&node, &stat);
        let attr_trust = self.attr_timeout(&node);
        Ok(Entry { node: id, stat, name_trust: attr_trust, attr_trust })
    }

    fn truncate(&self, node: &Arc<Node>, size: u64, fh: Option<u64>) -> Result<()> {
        self.pages.write_held_pages(node.id);
        match fh.and_then(|fh| self.handle(fh).ok()).filter(|handle| handle.writes) {
            Some(handle) => ftruncate(&handle.file, size),
            None => {
                self.wait_for_closes(node, |_| true);
                self.recall_copy(node, &mut node.open.lock())?;
                let held = self.node_descriptor(node)?;
                ftruncate(reopen_with_flags(held.as_fd(), OFlags::WRONLY | OFlags::NONBLOCK)?, size)
            }
        }
    }

    /// Whether the caller may read (4), write (2) or run (1) a file.
    ///
    /// # Errors
    /// EACCES and EROFS as access(2) says.
    pub fn access(&self, id: u64, mask: u32) -> Result<()> {
        let node = self.node(id)?;
        if let Some(packed) = node.packed.get() {
            return self.access_packed(packed, mask);
        }
        let held = self.node_descriptor(&node)?;
        let access = rustix::fs::Access::from_bits_truncate(mask);
        accessat(CWD, proc_fd_path(held.as_fd()), access, AtFlags::EACCESS)
    }

    /// Space and inodes of the file system that holds a node.
    ///
    /// # Errors
    /// The backing file system's.
    pub fn statfs(&self, id: u64) -> Result<StatVfs> {
        let node = self.node(id)?;
        match (node.packed.get(), self.tiers().and_then(|tiers| tiers.pack_tier_directory())) {
            (Some(_), Some(room)) => fstatvfs(room.root()),
            _ => fstatvfs(self.node_descriptor(&node)?.as_fd()),
        }
    }

    /// The owner and group to show. A daemon without privilege lives in a name space that knows
    /// one user and one group; the kernel refuses to write where it can't name either, so what
    /// this user may write is shown as theirs, and the rest as nobody's (see docs/semantics).
    pub(crate) fn exposed_owner(&self, node: Option<&Arc<Node>>, stat: &Statx) -> (u32, u32) {
        let (uid, gid) = (stat.stx_uid, stat.stx_gid);
        if self.knows_all_users() || (uid == self.me.0 && gid == self.me.1) {
            return (uid, gid);
        }
        if uid == self.me.0 || self.user_may_write(node, stat) { self.me } else { (uid, gid) }
    }

    fn user_may_write(&self, node: Option<&Arc<Node>>, stat: &Statx) -> bool {
        let mode = u32::from(stat.stx_mode);
        let mine = self.me.1 == stat.stx_gid || self.my_groups.contains(&stat.stx_gid);
        if mode & if mine { 0o020 } else { 0o002 } != 0 {
            return true;
        }
        // An access control list may still allow it; its mask shows in the group bits.
        mode & 0o020 != 0 && node.is_some_and(|node| self.access(node.id, 2).is_ok())
    }
}

fn to_timespec(when: Option<TimeOrNow>) -> Timespec {
    let (tv_sec, tv_nsec) = match when {
        None => (0, libc::UTIME_OMIT),
        Some(TimeOrNow::Now) => (0, libc::UTIME_NOW),
        Some(TimeOrNow::At(sec, nsec)) => (sec, i64::from(nsec)),
    };
    Timespec { tv_sec, tv_nsec: tv_nsec as _ }
}
