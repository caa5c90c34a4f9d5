//! One packed file made plain: written under no name, or a passing one, and then named.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, Timestamps, Uid, fchmod, fchown, futimens, linkat, openat,
    renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::copy;
use super::packed::Name;
use crate::native::proc_path;
use crate::pack::{Attr, Pack};

/// Where a file has been made.
pub(super) struct Made<'n> {
    pub(super) dir: &'n OwnedFd,
    pub(super) name: &'n CStr,
}

/// Makes the file under its name, over whatever has that name.
pub(super) fn make<'n>(pack: &Pack, of: &'n Name) -> Result<Made<'n>, Errno> {
    let dir = &of.place.fd;
    let mode = Mode::from_raw_mode(0o600);
    let passing =
        CString::new(format!(".forebay.packed.{:x}", of.found.ino)).expect("digits hold no NUL");
    let nameless = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let (file, named) = match openat(dir, c".", nameless, mode) {
        Ok(file) => (file, false),
        // A file system that knows no nameless files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let _ = unlinkat(dir, &passing, AtFlags::empty());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            (openat(dir, &passing, flags, mode)?, true)
        }
        Err(other) => return Err(other),
    };
    let done = fill(pack, of, &file).and_then(|()| name_it(&file, named, &passing, of));
    if done.is_err() {
        let _ = unlinkat(dir, &passing, AtFlags::empty());
    }
    done.map(|()| Made { dir, name: &of.name })
}

fn fill(pack: &Pack, of: &Name, file: &OwnedFd) -> Result<(), Errno> {
    let Attr { mode, uid, gid, atime, mtime, .. } = of.found.attr;
    let work = pack.work(of.found.ino)?;
    let copied = copy::bytes(&work.file, file);
    pack.done(of.found.ino, work);
    copied?;
    fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
    fchmod(file, Mode::from_raw_mode(mode))?;
    let time = |time: crate::pack::Time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ };
    let times = Timestamps { last_access: time(atime), last_modification: time(mtime) };
    futimens(file, &times)
}

fn name_it(file: &OwnedFd, named: bool, passing: &CStr, of: &Name) -> Result<(), Errno> {
    let dir = &of.place.fd;
    if named {
        return renameat(dir, passing, dir, &of.name);
    }
    let follow = AtFlags::SYMLINK_FOLLOW;
    match linkat(CWD, proc_path(file.as_fd()), dir, &of.name, follow) {
        Err(Errno::EXIST) => {
            let _ = unlinkat(dir, passing, AtFlags::empty());
            linkat(CWD, proc_path(file.as_fd()), dir, passing, follow)?;
            renameat(dir, passing, dir, &of.name)
        }
        other => other,
    }
}
