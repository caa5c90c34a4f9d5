//! One packed file made plain: written under no name, or a passing one, and then named.

mod unnamed_file;

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, Gid, Mode, Statx, Timestamps, Uid, fchmod, fchown, futimens, linkat, unlinkat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::packed_names::PackedFileName;
use crate::tiers::copy::packed_bytes;
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::{Attr, DirKey, Pack, PackedEntry, Time};
pub(crate) use unnamed_file::UnnamedFile;

/// Makes a file under all its names.
///
/// # Errors
/// EEXIST when somebody has one of them; the file system's.
pub(super) fn make_under_all_names(pack: &Pack, names: &[PackedFileName]) -> Result<(), Errno> {
    let Some((first, others)) = names.split_first() else { return Ok(()) };
    if others.is_empty() && is_eagerly_written(pack, first) {
        return Ok(());
    }
    let (dir, name) = (&first.place.fd, first.name.as_c_str());
    let announce = |key: DirKey| {
        // Should this be cut short, the file in place is the one. Where a full log can't say so, the
        // packed one is, which has the same bytes.
        let _ = pack.note_write_back_target(first.place.key, name.to_bytes(), key);
        Ok(())
    };
    let make = |replace| {
        let new = match UnnamedFile::create_nameless(dir, &first.found) {
            Err(Errno::OPNOTSUPP) => UnnamedFile::create_beside(dir, &first.found)?,
            new => new?,
        };
        make_packed_file(pack, &first.found, new, (dir, name), replace, announce)
    };
    // Nearly always nothing has the name; where asking is slow, not to ask is much.
    let made = match make(false) {
        Err(Errno::EXIST) => make(may_replace_existing(first)?),
        made => made,
    };
    let key = made?;
    for other in others {
        let to = &other.place.fd;
        if may_replace_existing(other)? {
            unlinkat(to, &other.name, AtFlags::empty())?;
        }
        // As above.
        let _ = pack.note_write_back_target(other.place.key, other.name.to_bytes(), key);
        linkat(dir, name, to, &other.name, AtFlags::empty())?;
    }
    Ok(())
}

/// Whether it was made while the run lasted, and nobody has changed either since.
fn is_eagerly_written(pack: &Pack, name: &PackedFileName) -> bool {
    let early = pack.eager_copy(name.found.ino);
    early.is_some()
        && early == name.found.over
        && statx_nofollow(name.place.fd.as_fd(), &name.name).is_ok_and(|there| {
            early == Some(DirKey::from_statx(&there)) && has_same_attributes(name, &there)
        })
}

fn has_same_attributes(name: &PackedFileName, there: &Statx) -> bool {
    let Attr { mtime, size, mode, uid, .. } = name.found.attr;
    (there.stx_size, Time::from_timestamp(&there.stx_mtime)) == (size, mtime)
        && (u32::from(there.stx_mode), there.stx_uid) == (libc::S_IFREG | mode, uid)
}

/// Whether what has a packed file's name in place is to be replaced: what it hides, or what an
/// earlier, killed, homecoming made. `false`: nothing has it.
///
/// # Errors
/// EEXIST: it is somebody's.
fn may_replace_existing(name: &PackedFileName) -> Result<bool, Errno> {
    let there = match statx_nofollow(name.place.fd.as_fd(), &name.name) {
        Ok(there) => there,
        Err(Errno::NOENT) => return Ok(false),
        Err(other) => return Err(other),
    };
    let key = Some(DirKey::from_statx(&there));
    let is_ours = has_same_attributes(name, &there) || name.found.over == key;
    match is_ours && name.found.yields != key {
        true => Ok(true),
        false => Err(Errno::EXIST),
    }
}

/// Makes the file under its name, over whatever has that name if `replace`. `announce` is told which
/// one it is just before it gets the name; what that gives is held until it has.
///
/// # Errors
/// EEXIST when something has the name that is not to be replaced; the file system's.
pub(crate) fn make_packed_file<T>(
    pack: &Pack,
    found: &PackedEntry,
    new: UnnamedFile<'_>,
    at: (&OwnedFd, &CStr),
    replace: bool,
    announce: impl FnOnce(DirKey) -> Result<T, Errno>,
) -> Result<DirKey, Errno> {
    let stat = statx_nofollow(new.file.as_fd(), c"")?;
    fill_packed_file(pack, found, &new.file, &stat)?;
    let made = DirKey::from_statx(&stat);
    let _held = announce(made)?;
    new.give_name(at, replace).map(|()| made)
}

/// Bytes and attributes of a file that is new.
fn fill_packed_file(
    pack: &Pack,
    found: &PackedEntry,
    file: &OwnedFd,
    new: &Statx,
) -> Result<(), Errno> {
    let Attr { mode, uid, gid, atime, mtime, .. } = found.attr;
    packed_bytes(pack, found.ino, file)?;
    if (new.stx_uid, new.stx_gid) != (uid, gid) {
        fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
    }
    if u32::from(new.stx_mode) & 0o7777 != mode {
        fchmod(file, Mode::from_raw_mode(mode))?;
    }
    let time = |time: forebay_packlog::Time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ };
    let times = Timestamps { last_access: time(atime), last_modification: time(mtime) };
    futimens(file, &times)
}
