//! One file published: whole under a passing name beside its own, made safe, then named.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timestamps, Uid, chownat, fchmod, fchown, fsync, futimens, openat,
    readlinkat, renameat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::Publisher;
use crate::native::stat_of;
use crate::pack::{Attr, Pack, Time};
use crate::tiers::home::{attributes, below, copy, packed_file};
use crate::tiers::{Placed, Tiers};

/// Where the bytes of a file are.
pub(crate) enum Source<'a> {
    /// In place, as `name` in this directory.
    Here(BorrowedFd<'a>, &'a CStr),
    /// A body on a tier.
    Body(&'a Tiers, &'a Placed),
    /// In the pack.
    Packed(&'a Pack, u64),
}

impl Publisher<'_> {
    /// Publishes a plain file; tells how many bytes it has.
    ///
    /// # Errors
    /// The two file systems'; what was published before under its name is there still.
    pub(crate) fn file(&mut self, to: usize, path: &Path, from: &Source<'_>) -> Result<u64, Errno> {
        if let Some(bucket) = &self.buckets[to] {
            let done = bucket.file(path, from);
            return self.stored(done);
        }
        let (dir, name) = self.target(to, path)?;
        let passing = self.passing(&name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // One that a kill left behind.
        let _ = unlinkat(&dir, &passing, AtFlags::empty());
        let file = openat(&dir, &passing, flags, Mode::from_raw_mode(0o600))?;
        let progress = self.progress;
        let step = |bytes| {
            progress.copied(bytes);
            Ok(())
        };
        let done = fill(from, &file, &step).and_then(|source| {
            fsync(&file)?;
            self.may_replace(to, &dir, &name, source.uid)?;
            renameat(&dir, &passing, &dir, &name)?;
            Ok(source.size)
        });
        if done.is_err() {
            let _ = unlinkat(&dir, &passing, AtFlags::empty());
        }
        done
    }

    /// Publishes a symbolic link, as it is.
    ///
    /// # Errors
    /// As `file`.
    pub(super) fn link(
        &mut self,
        to: usize,
        path: &Path,
        target: &CStr,
        (uid, gid): (u32, u32),
    ) -> Result<u64, Errno> {
        let (dir, name) = self.target(to, path)?;
        let passing = self.passing(&name);
        let _ = unlinkat(&dir, &passing, AtFlags::empty());
        symlinkat(target, &dir, &passing)?;
        // Only root may.
        let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        let _ = chownat(&dir, &passing, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW);
        let done = self
            .may_replace(to, &dir, &name, uid)
            .and_then(|()| renameat(&dir, &passing, &dir, &name));
        if done.is_err() {
            let _ = unlinkat(&dir, &passing, AtFlags::empty());
        }
        done.map(|()| 0)
    }

    /// Whether the tier has this file already, as far as size and time tell. File systems cut
    /// times to what they can keep: microseconds, or seconds.
    pub(crate) fn has(&mut self, to: usize, path: &Path, size: u64, mtime: Time) -> bool {
        if let Some(bucket) = &self.buckets[to] {
            return bucket.has(path, size, mtime);
        }
        let found = self.there(to, path).and_then(|(dir, name)| stat_of(dir.as_fd(), &name));
        let Ok(there) = found else { return false };
        let time = Time::of(&there.stx_mtime);
        u32::from(there.stx_mode) & libc::S_IFMT == libc::S_IFREG
            && (there.stx_size, time.sec) == (size, mtime.sec)
            && [mtime.nsec, mtime.nsec / 1000 * 1000, 0].contains(&time.nsec)
    }

    /// Whether the tier has this symbolic link already.
    pub(super) fn has_link(&mut self, to: usize, path: &Path, target: &CStr) -> bool {
        let found = self.there(to, path).and_then(|(dir, name)| readlinkat(dir, &name, Vec::new()));
        found.is_ok_and(|there| there.as_c_str() == target)
    }

    /// Where a path would be on the tier, reached as it is for writing: without following a link.
    fn there(&mut self, to: usize, path: &Path) -> Result<(&OwnedFd, CString), Errno> {
        let up = path.parent().unwrap_or(Path::new(""));
        let known = self.looked.as_ref().is_some_and(|(tier, dir, _)| (*tier, &**dir) == (to, up));
        if !known {
            let dir = self.base(to).and_then(|base| below(base, up));
            self.looked = Some((to, up.to_owned(), dir));
        }
        let (_, _, dir) = self.looked.as_ref().ok_or(Errno::NOENT)?;
        Ok((dir.as_ref().map_err(|error| *error)?, last(path)?))
    }

    fn target(
        &mut self,
        to: usize,
        path: &Path,
    ) -> Result<(std::sync::Arc<OwnedFd>, CString), Errno> {
        self.is_free(path)?;
        Ok((self.folder(to, path.parent().unwrap_or(Path::new("")))?, last(path)?))
    }

    /// The name that a file has on its way.
    pub(super) fn passing(&self, name: &CStr) -> CString {
        let name = name.to_bytes();
        let mut passing = format!(".forebay.{}.", self.mark).into_bytes();
        passing.extend_from_slice(&name[..name.len().min(190)]);
        CString::new(passing).expect("a name holds no NUL")
    }
}

fn last(path: &Path) -> Result<CString, Errno> {
    let name = path.file_name().unwrap_or_default();
    CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)
}

/// Bytes, attributes as far as the tier takes them, mode and times; tells those of the source.
fn fill(from: &Source<'_>, to: &OwnedFd, told: copy::Step<'_>) -> Result<Attr, Errno> {
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
            packed_file::bytes(pack, *ino, to)?;
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
