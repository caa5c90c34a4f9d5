//! Answers in the kernel's layout.

use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FileType, Mode, StatVfs, Statx, StatxTimestamp};
use zerocopy::IntoBytes;

use super::abi::{
    Attr, AttrOut, Dirent, EntryOut, OpenOut, StatfsOut, Statx as WireStatx, SxTime, fopen,
};
use super::session::Session;
use crate::native::{DirEntry, Entry, IoState, Node, OpenReply, pack_device};

impl Session {
    pub(super) fn to_fuse_attr(&self, node: Option<&Arc<Node>>, stat: &Statx) -> Attr {
        let (uid, gid) = self.tree.native.exposed_owner(node, stat);
        let time = |t: &StatxTimestamp| (t.tv_sec as u64, t.tv_nsec);
        let ((atime, atimensec), (mtime, mtimensec), (ctime, ctimensec)) =
            (time(&stat.stx_atime), time(&stat.stx_mtime), time(&stat.stx_ctime));
        Attr {
            ino: stat.stx_ino,
            size: stat.stx_size,
            blocks: stat.stx_blocks,
            atime,
            mtime,
            ctime,
            atimensec,
            mtimensec,
            ctimensec,
            mode: u32::from(stat.stx_mode),
            nlink: stat.stx_nlink,
            uid,
            gid,
            rdev: pack_device(stat.stx_rdev_major, stat.stx_rdev_minor),
            blksize: stat.stx_blksize,
            flags: 0,
        }
    }

    pub(super) fn entry_out(&self, entry: &Entry) -> EntryOut {
        let node = self.tree.native.node(entry.node).ok();
        let names = self.device.client_timeout(entry.name_trust);
        let attributes = self.exposed_attr_timeout(&entry.stat, entry.attr_trust);
        EntryOut {
            nodeid: entry.node,
            // Numbers are never used again, so there is one generation.
            generation: 0,
            entry_valid: names.as_secs(),
            entry_valid_nsec: names.subsec_nanos(),
            attr_valid: attributes.as_secs(),
            attr_valid_nsec: attributes.subsec_nanos(),
            attr: if entry.node == 0 {
                Attr::default()
            } else {
                self.to_fuse_attr(node.as_ref(), &entry.stat)
            },
        }
    }

    /// How long the kernel may believe attributes. Set-id bits go with the next write, of which the
    /// kernel tells nobody where it hands writes to the file below, so they are never believed: who
    /// wrote into such a file would run it with its owner's rights.
    pub(super) fn exposed_attr_timeout(&self, stat: &Statx, trust: Duration) -> Duration {
        let mode = u32::from(stat.stx_mode);
        let is_file = FileType::from_raw_mode(mode) == FileType::RegularFile;
        let bits = Mode::from_raw_mode(mode).intersects(Mode::SUID | Mode::SGID);
        if is_file && bits { Duration::ZERO } else { self.device.client_timeout(trust) }
    }

    pub(super) fn attr_out(&self, id: u64, stat: &Statx, trust: Duration) -> AttrOut {
        let node = self.tree.native.node(id).ok();
        let trust = self.exposed_attr_timeout(stat, trust);
        AttrOut {
            attr_valid: trust.as_secs(),
            attr_valid_nsec: trust.subsec_nanos(),
            dummy: 0,
            attr: self.to_fuse_attr(node.as_ref(), stat),
        }
    }

    pub(super) fn statx_out(&self, id: u64, stat: &Statx) -> WireStatx {
        let node = self.tree.native.node(id).ok();
        let (uid, gid) = self.tree.native.exposed_owner(node.as_ref(), stat);
        let time = |t: &StatxTimestamp| SxTime { sec: t.tv_sec, nsec: t.tv_nsec, reserved: 0 };
        WireStatx {
            mask: stat.stx_mask,
            blksize: stat.stx_blksize,
            attributes: stat.stx_attributes.bits(),
            nlink: stat.stx_nlink,
            uid,
            gid,
            mode: stat.stx_mode,
            ino: stat.stx_ino,
            size: stat.stx_size,
            blocks: stat.stx_blocks,
            attributes_mask: stat.stx_attributes_mask.bits(),
            atime: time(&stat.stx_atime),
            btime: time(&stat.stx_btime),
            ctime: time(&stat.stx_ctime),
            mtime: time(&stat.stx_mtime),
            rdev_major: stat.stx_rdev_major,
            rdev_minor: stat.stx_rdev_minor,
            ..Default::default()
        }
    }
}

/// `quiet`: the kernel need not ask when it is closed, if there is nothing to tell.
pub(super) fn open_out(opened: &OpenReply, quiet: bool) -> OpenOut {
    let mut flags = 0;
    match opened.state {
        IoState::Passthrough => flags |= fopen::PASSTHROUGH,
        IoState::Cached if opened.keep_cache => flags |= fopen::KEEP_CACHE,
        IoState::Cached => {}
        IoState::Direct => flags |= fopen::DIRECT_IO | fopen::PARALLEL_DIRECT_WRITES,
    }
    if opened.quiet_close && quiet {
        flags |= fopen::NOFLUSH;
    }
    OpenOut { fh: opened.fh, open_flags: flags, backing_id: opened.backing_id.unwrap_or(0) }
}

pub(super) fn statfs_out(stat: &StatVfs) -> StatfsOut {
    StatfsOut {
        blocks: stat.f_blocks,
        bfree: stat.f_bfree,
        bavail: stat.f_bavail,
        files: stat.f_files,
        ffree: stat.f_ffree,
        bsize: stat.f_bsize as u32,
        namelen: stat.f_namemax as u32,
        frsize: stat.f_frsize as u32,
        ..Default::default()
    }
}

/// Adds a directory record with this inode number, and its entry for READDIRPLUS; false when it does
/// not fit in `room`.
pub(super) fn add_dirent(
    buffer: &mut Vec<u8>,
    room: usize,
    entry: &DirEntry,
    ino: u64,
    (kind, plus): (u32, Option<&EntryOut>),
) -> bool {
    let name = entry.name.to_bytes();
    let plain = size_of::<Dirent>() + name.len();
    let size = (plus.map_or(0, |_| size_of::<EntryOut>()) + plain).next_multiple_of(8);
    if buffer.len() + size > room {
        return false;
    }
    let end = buffer.len() + size;
    if let Some(plus) = plus {
        buffer.extend_from_slice(plus.as_bytes());
    }
    let head = Dirent { ino, off: entry.next, namelen: name.len() as u32, kind };
    buffer.extend_from_slice(head.as_bytes());
    buffer.extend_from_slice(name);
    buffer.resize(end, 0);
    true
}
