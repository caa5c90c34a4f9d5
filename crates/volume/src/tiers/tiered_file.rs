//! A file whose body is on a tier, and how link and body look as one.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicU64};

use rustix::fs::Statx;

/// A file whose body is on a tier.
#[derive(Debug)]
pub(crate) struct TieredFile {
    pub(crate) room: usize,
    /// The body's name in the room.
    pub(crate) key: CString,
    /// Bytes that count against the tier's capacity.
    pub(crate) charged: AtomicU64,
    /// Links to the link: the hard links of the file.
    pub(crate) links: AtomicU64,
    /// The body has lost its last name.
    pub(crate) gone: AtomicBool,
    /// The names have been made safe once, by the first fsync.
    pub(crate) named: AtomicBool,
}

impl TieredFile {
    pub(crate) fn new(room: usize, key: CString) -> TieredFile {
        TieredFile {
            room,
            key,
            charged: AtomicU64::new(0),
            links: AtomicU64::new(1),
            gone: AtomicBool::new(false),
            named: AtomicBool::new(false),
        }
    }
}

/// Whether a link may stand for a body: anybody can make a link to anywhere.
pub(crate) fn is_trusted_link(link: &Statx, body: &Statx) -> bool {
    link.stx_uid == body.stx_uid && u32::from(body.stx_mode) & libc::S_IFMT == libc::S_IFREG
}

/// Link and body as one plain file: which file it is, and its hard links, are the link's; the rest
/// is the body's. A body without a name has no links. A change of either is a change of the file.
pub(crate) fn merged_attributes(link: &Statx, body: &Statx) -> Statx {
    let mut all = *body;
    let changed = |stat: &Statx| (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec);
    if changed(link) > changed(body) {
        all.stx_ctime = link.stx_ctime;
    }
    all.stx_ino = link.stx_ino;
    all.stx_dev_major = link.stx_dev_major;
    all.stx_dev_minor = link.stx_dev_minor;
    all.stx_nlink = if body.stx_nlink == 0 { 0 } else { link.stx_nlink };
    all.stx_btime = link.stx_btime;
    all.stx_mask = (body.stx_mask & !libc::STATX_BTIME) | (link.stx_mask & libc::STATX_BTIME);
    all
}
