//! One file published: whole under a passing name beside its own, made safe, then named.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, chownat, fsync, openat, readlinkat, renameat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;

use super::Publisher;
use super::source_file::{PublishSource, copy_source};
use crate::tiers::beneath::open_below;
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::Time;

impl Publisher<'_> {
    /// Publishes a plain file; tells how many bytes it has.
    ///
    /// # Errors
    /// The two file systems'; what was published before under its name is there still.
    pub(crate) fn publish_file(
        &mut self,
        to: usize,
        path: &Path,
        from: &PublishSource<'_>,
    ) -> Result<u64, Errno> {
        if let Some(bucket) = &self.buckets[to] {
            let done = bucket.publish_file(path, from);
            return self.record_upload_error(done);
        }
        let (dir, name) = self.writable_target(to, path)?;
        let passing = self.staging_name(&name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // One that a kill left behind.
        let _ = unlinkat(&dir, &passing, AtFlags::empty());
        let file = openat(&dir, &passing, flags, Mode::from_raw_mode(0o600))?;
        let progress = self.progress;
        let step = |bytes| {
            progress.add_copied_bytes(bytes);
            Ok(())
        };
        let done = copy_source(from, &file, &step).and_then(|source| {
            fsync(&file)?;
            self.check_replaceable(to, &dir, &name, source.uid)?;
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
    /// As `publish_file`.
    pub(super) fn publish_link(
        &mut self,
        to: usize,
        path: &Path,
        target: &CStr,
        (uid, gid): (u32, u32),
    ) -> Result<u64, Errno> {
        let (dir, name) = self.writable_target(to, path)?;
        let passing = self.staging_name(&name);
        let _ = unlinkat(&dir, &passing, AtFlags::empty());
        symlinkat(target, &dir, &passing)?;
        let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        // Only root may; what others publish is theirs.
        let _ = chownat(&dir, &passing, owner.0, owner.1, AtFlags::SYMLINK_NOFOLLOW);
        let done = self
            .check_replaceable(to, &dir, &name, uid)
            .and_then(|()| renameat(&dir, &passing, &dir, &name));
        if done.is_err() {
            let _ = unlinkat(&dir, &passing, AtFlags::empty());
        }
        done.map(|()| 0)
    }

    /// Whether the tier has this file already, as far as size and time tell. File systems cut
    /// times to what they can keep: microseconds, or seconds.
    pub(crate) fn has_same_file(&mut self, to: usize, path: &Path, size: u64, mtime: Time) -> bool {
        if let Some(bucket) = &self.buckets[to] {
            return bucket.has_same_file(path, size, mtime);
        }
        let found = self
            .lookup_on_tier(to, path)
            .and_then(|(dir, name)| statx_nofollow(dir.as_fd(), &name));
        let Ok(there) = found else { return false };
        let time = Time::from_timestamp(&there.stx_mtime);
        u32::from(there.stx_mode) & libc::S_IFMT == libc::S_IFREG
            && (there.stx_size, time.sec) == (size, mtime.sec)
            && [mtime.nsec, mtime.nsec / 1000 * 1000, 0].contains(&time.nsec)
    }

    /// Whether the tier has this symbolic link already.
    pub(super) fn has_same_link(&mut self, to: usize, path: &Path, target: &CStr) -> bool {
        let found = self
            .lookup_on_tier(to, path)
            .and_then(|(dir, name)| readlinkat(dir, &name, Vec::new()));
        found.is_ok_and(|there| there.as_c_str() == target)
    }

    /// Where a path would be on the tier, reached as it is for writing: without following a link.
    fn lookup_on_tier(&mut self, to: usize, path: &Path) -> Result<(&OwnedFd, CString), Errno> {
        let up = path.parent().unwrap_or(Path::new(""));
        let known = self.looked.as_ref().is_some_and(|(tier, dir, _)| (*tier, &**dir) == (to, up));
        if !known {
            let dir = self.base_directory(to).and_then(|base| open_below(base, up));
            self.looked = Some((to, up.to_owned(), dir));
        }
        let (_, _, dir) = self.looked.as_ref().ok_or(Errno::NOENT)?;
        Ok((dir.as_ref().map_err(|error| *error)?, last_component(path)?))
    }

    fn writable_target(
        &mut self,
        to: usize,
        path: &Path,
    ) -> Result<(std::sync::Arc<OwnedFd>, CString), Errno> {
        self.check_name_free(path)?;
        Ok((self.ensure_folder(to, path.parent().unwrap_or(Path::new("")))?, last_component(path)?))
    }

    /// The name that a file has on its way.
    pub(super) fn staging_name(&self, name: &CStr) -> CString {
        let name = name.to_bytes();
        let mut passing = format!(".forebay.{}.", self.mark).into_bytes();
        passing.extend_from_slice(&name[..name.len().min(190)]);
        CString::new(passing).expect("a name holds no NUL")
    }
}

fn last_component(path: &Path) -> Result<CString, Errno> {
    let name = path.file_name().unwrap_or_default();
    CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)
}
