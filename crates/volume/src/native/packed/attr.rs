//! Attributes of packed files: shown, and changed by whom it is allowed.

use std::sync::Arc;

use rustix::fs::{OFlags, Statx, StatxTimestamp, ftruncate};
use rustix::io::Errno;

use super::open::copy_set_id_bits;
use super::{PackedFile, SET_ID, opens_for_writing, set_working_times};
use crate::native::open::EXEC;
use crate::native::{AttributeChange, Entry, FileHandle, Native, Node, Result, TimeOrNow};
use forebay_packlog::{Attr, Time};

fn to_statx_time(time: Time) -> StatxTimestamp {
    // SAFETY: plain numbers, for which zero is a value.
    let mut shown: StatxTimestamp = unsafe { std::mem::zeroed() };
    (shown.tv_sec, shown.tv_nsec) = (time.sec, time.nsec);
    shown
}

impl Native {
    /// Attributes as statx(2) has them.
    pub(super) fn statx_from_attr(&self, ino: u64, attr: &Attr, links: u32) -> Statx {
        let device = self.table.device();
        // SAFETY: a Statx is plain numbers, for which zero is a value.
        let mut stat: Statx = unsafe { std::mem::zeroed() };
        stat.stx_mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
        stat.stx_blksize = 4096;
        stat.stx_nlink = links;
        stat.stx_uid = attr.uid;
        stat.stx_gid = attr.gid;
        stat.stx_mode = (libc::S_IFREG | attr.mode) as u16;
        stat.stx_ino = ino;
        stat.stx_size = attr.size;
        stat.stx_blocks = attr.size.div_ceil(4096) * 8;
        stat.stx_atime = to_statx_time(attr.atime);
        stat.stx_mtime = to_statx_time(attr.mtime);
        stat.stx_ctime = to_statx_time(attr.ctime);
        stat.stx_btime = to_statx_time(attr.born);
        stat.stx_dev_major = rustix::fs::major(device);
        stat.stx_dev_minor = rustix::fs::minor(device);
        stat
    }

    /// Size in bytes of a packed file that was written, after a close of it; `None` of others.
    pub(crate) fn packed_file_size(&self, handle: &FileHandle) -> Option<u64> {
        let packed = handle.node.packed.get().filter(|_| handle.writes)?;
        packed.attributes_and_links(self.pack()?).ok().map(|(attr, _)| attr.size)
    }

    /// Attributes of a packed file now.
    pub(crate) fn stat_packed_file(&self, packed: &PackedFile) -> Result<Statx> {
        let pack = self.pack().ok_or(Errno::STALE)?;
        let (attr, links) = packed.attributes_and_links(pack)?;
        let mut stat = self.statx_from_attr(packed.ino, &attr, links);
        // A file with holes, or with room reserved, takes other than its size.
        let open = packed.in_use.lock().as_ref().and_then(|used| used.stat_working_file().ok());
        let apart = open.or_else(|| pack.stat_data_file(packed.ino));
        stat.stx_blocks = apart.map_or(stat.stx_blocks, |file| file.stx_blocks);
        Ok(stat)
    }

    /// Where the kernel does not check who may open what, we do: one user is served then.
    pub(super) fn check_mode(&self, attr: &Attr, how: OFlags, flags: u32) -> Result<()> {
        if flags & EXEC != 0 {
            return self.check_access(attr, 1);
        }
        let reads = how & OFlags::ACCMODE != OFlags::WRONLY;
        self.check_access(attr, u32::from(reads) * 4 + u32::from(opens_for_writing(how)) * 2)
    }

    pub(super) fn check_access(&self, attr: &Attr, mask: u32) -> Result<()> {
        if self.is_shared() || attr.mode >> 6 & mask & 7 == mask & 7 {
            return Ok(());
        }
        Err(Errno::ACCESS)
    }

    /// access(2) on a packed file.
    pub(in crate::native) fn access_packed(&self, packed: &PackedFile, mask: u32) -> Result<()> {
        let (attr, _) = packed.attributes_and_links(self.pack().ok_or(Errno::STALE)?)?;
        self.check_access(&attr, mask)
    }

    /// Changes attributes of a packed file.
    pub(in crate::native) fn setattr_packed(
        &self,
        node: &Arc<Node>,
        packed: &PackedFile,
        change: AttributeChange,
    ) -> Result<Entry> {
        let pack = self.pack().ok_or(Errno::STALE)?;
        let by_root = forebay_os::credentials::impersonated_ids().0 == 0;
        self.credentials.revert();
        if let Some(size) = change.size {
            let (attr, _) = packed.attributes_and_links(pack)?;
            let open = change.handle.and_then(|fh| self.handle(fh).ok());
            if open.is_none_or(|handle| !handle.writes) {
                self.check_access(&attr, 2)?;
            }
            self.truncate_packed(node, packed, &attr, size, by_root)?;
        }
        let changes = change.mode.is_some()
            || change.uid.is_some()
            || change.gid.is_some()
            || change.atime.is_some()
            || change.mtime.is_some();
        if changes {
            let mut in_use = packed.in_use.lock();
            let now = pack.timestamp_now();
            let old = pack.attributes_and_links(packed.ino)?.0;
            let attr = apply_change(&old, &change, now);
            if let (Some(used), true) = (&mut *in_use, attr.mode != old.mode) {
                // Whoever has it open may write to it next.
                copy_set_id_bits(used, &attr)?;
            }
            if let (Some(used), true) = (&mut *in_use, change.mtime.is_some()) {
                // It goes on from there.
                set_working_times(&used.work, attr.atime, attr.mtime)?;
                used.note_own_change()?;
            }
            pack.set_attributes(packed.ino, attr)?;
        }
        let stat = self.stat_packed_file(packed)?;
        let attr_trust = self.attr_timeout(node);
        Ok(Entry { node: node.id, stat, name_trust: attr_trust, attr_trust })
    }

    fn truncate_packed(
        &self,
        node: &Node,
        packed: &PackedFile,
        attr: &Attr,
        size: u64,
        by_root: bool,
    ) -> Result<()> {
        let pack = self.pack().ok_or(Errno::STALE)?;
        let mut in_use = packed.in_use.lock();
        let how = OFlags::RDWR | OFlags::CLOEXEC;
        let done =
            self.open_working_file(pack, packed, &mut in_use, attr, how).and_then(|(file, _)| {
                ftruncate(&file, size)?;
                packed.mark_dirty();
                Ok(())
            });
        if done.is_ok() && !by_root && attr.mode & SET_ID != 0 {
            let group = if attr.mode & 0o010 != 0 { 0o2000 } else { 0 };
            let (attr, _) = pack.attributes_and_links(packed.ino)?;
            pack.set_attributes(packed.ino, Attr { mode: attr.mode & !(0o4000 | group), ..attr })?;
        }
        self.release_working_file(node, packed, &mut in_use);
        done
    }
}

fn apply_change(old: &Attr, change: &AttributeChange, now: Time) -> Attr {
    let mut new = *old;
    if change.uid.is_some() || change.gid.is_some() {
        new.uid = change.uid.unwrap_or(old.uid);
        new.gid = change.gid.unwrap_or(old.gid);
        // chown(2): another owner's program must not run as somebody's.
        let group = if old.mode & 0o010 != 0 { 0o2000 } else { 0 };
        new.mode &= !(0o4000 | group);
    }
    if let Some(mode) = change.mode {
        new.mode = mode & 0o7777;
    }
    let time = |when| match when {
        TimeOrNow::Now => now,
        TimeOrNow::At(sec, nsec) => Time { sec, nsec },
    };
    new.atime = change.atime.map_or(old.atime, time);
    new.mtime = change.mtime.map_or(old.mtime, time);
    new.ctime = now;
    new
}
