//! What is published: bytes, attributes, mode and times of a file, wherever it is.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Gid, Mode, OFlags, Timestamps, Uid, fchmod, fchown, futimens, openat};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::tiers::{TieredFile, Tiers, attributes, copy};
use forebay_os::files::stat_of;
use forebay_packlog::{Attr, Pack, Time};

/// Where the bytes of a file are.
pub(crate) enum Source<'a> {
    /// In place, as `name` in this directory.
    Here(BorrowedFd<'a>, &'a CStr),
    /// A body on a tier.
    Body(&'a Tiers, &'a TieredFile),
    /// In the pack.
    Packed(&'a Pack, u64),
}

/// Bytes, attributes as far as the tier takes them, mode and times; tells those of the source.
pub(super) fn fill(from: &Source<'_>, to: &OwnedFd, told: copy::Step<'_>) -> Result<Attr, Errno> {
    let attr = match from {
        Source::Here(dir, name) => {
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            plain(&openat(dir, *name, how, Mode::empty())?, to, None, told)?
        }
        Source::Body(tiers, placed) => {
            let (body, mode) = copy::readable(tiers, placed)?;
            plain(&body, to, Some(mode), told)?
        }
        Source::Packed(pack, ino) => {
            let (attr, _) = pack.attr(*ino)?;
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
fn plain(
    from: &OwnedFd,
    to: &OwnedFd,
    mode: Option<u32>,
    told: copy::Step<'_>,
) -> Result<Attr, Errno> {
    let stat = stat_of(from.as_fd(), c"")?;
    copy::bytes(from, to, told)?;
    // A tier without them has the bytes all the same.
    let _ = attributes::extended(from, to);
    Ok(Attr {
        mode: mode.unwrap_or(u32::from(stat.stx_mode)),
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        size: stat.stx_size,
        atime: Time::of(&stat.stx_atime),
        mtime: Time::of(&stat.stx_mtime),
        ..Attr::default()
    })
}
