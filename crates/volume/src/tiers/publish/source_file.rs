//! What is published: bytes, attributes, mode and times of a file, wherever it is.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Gid, Mode, OFlags, Timestamps, Uid, fchmod, fchown, futimens, openat};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::tiers::{TieredFile, Tiers, attributes, copy};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::{Attr, Pack, Time};

/// Where the bytes of a file are.
pub(crate) enum PublishSource<'a> {
    /// In place, as `name` in this directory.
    Here(BorrowedFd<'a>, &'a CStr),
    /// A body on a tier.
    Body(&'a Tiers, &'a TieredFile),
    /// In the pack.
    Packed(&'a Pack, u64),
}

/// Bytes, attributes as far as the tier takes them, mode and times; tells those of the source.
pub(super) fn copy_source(
    from: &PublishSource<'_>,
    to: &OwnedFd,
    told: copy::CopyObserver<'_>,
) -> Result<Attr, Errno> {
    let attr = match from {
        PublishSource::Here(dir, name) => {
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            copy_plain_file(&openat(dir, *name, how, Mode::empty())?, to, None, told)?
        }
        PublishSource::Body(tiers, placed) => {
            let (body, mode) = copy::open_readable(tiers, placed)?;
            copy_plain_file(&body, to, Some(mode), told)?
        }
        PublishSource::Packed(pack, ino) => {
            let (attr, _) = pack.attributes_and_links(*ino)?;
            copy::packed_bytes(pack, *ino, to)?;
            attr
        }
    };
    let (uid, gid) = (Uid::from_raw(attr.uid), Gid::from_raw(attr.gid));
    // Who may not give files away publishes them as theirs, without rights that were another's.
    let given = fchown(to, Some(uid), Some(gid)).is_ok();
    let mode = if given { attr.mode & 0o7777 } else { attr.mode & 0o1777 };
    fchmod(to, Mode::from_raw_mode(mode))?;
    let time = |time: Time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ };
    let times = Timestamps { last_access: time(attr.atime), last_modification: time(attr.mtime) };
    futimens(to, &times)?;
    Ok(attr)
}

/// A plain file's bytes. Its attributes are those before the first of them was read: if it is
/// written meanwhile, the next run finds that it has changed.
fn copy_plain_file(
    from: &OwnedFd,
    to: &OwnedFd,
    mode: Option<u32>,
    told: copy::CopyObserver<'_>,
) -> Result<Attr, Errno> {
    let stat = statx_nofollow(from.as_fd(), c"")?;
    copy::copy_bytes(from, to, told)?;
    // A tier without them has the bytes all the same.
    let _ = attributes::copy_xattrs(from, to);
    Ok(Attr {
        mode: mode.unwrap_or(u32::from(stat.stx_mode)),
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        size: stat.stx_size,
        atime: Time::from_timestamp(&stat.stx_atime),
        mtime: Time::from_timestamp(&stat.stx_mtime),
        ..Attr::default()
    })
}
