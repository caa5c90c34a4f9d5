//! A file that is made without a name, or under a passing one, and then gets its own.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use crate::tiers::StagingPath;
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};
use forebay_packlog::{DirKey, PackedEntry};

/// A file that is not there yet for those who look at its directory.
#[derive(Debug)]
pub(crate) struct UnnamedFile<'d> {
    pub(super) file: OwnedFd,
    /// Where its passing name is, or may be.
    dir: &'d OwnedFd,
    passing: CString,
    /// It has that name.
    named: bool,
}

impl Drop for UnnamedFile<'_> {
    fn drop(&mut self) {
        if self.named {
            let _ = unlinkat(self.dir, &self.passing, AtFlags::empty());
        }
    }
}

impl<'d> UnnamedFile<'d> {
    /// One without any name, in the directory where it belongs.
    ///
    /// # Errors
    /// EOPNOTSUPP where the file system knows no such files; its own.
    pub(crate) fn create_nameless(
        dir: &'d OwnedFd,
        found: &PackedEntry,
    ) -> Result<UnnamedFile<'d>, Errno> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let made = openat(dir, c".", flags, Mode::from_raw_mode(found.attr.mode & 0o777));
        let file = made.map_err(|error| match error {
            Errno::ISDIR | Errno::INVAL => Errno::OPNOTSUPP,
            other => other,
        })?;
        Ok(UnnamedFile { file, dir, passing: staging_name(found), named: false })
    }

    /// Where there are none of those: under a name beside its own, which the next way home finds.
    pub(super) fn create_beside(
        dir: &'d OwnedFd,
        found: &PackedEntry,
    ) -> Result<UnnamedFile<'d>, Errno> {
        let passing = staging_name(found);
        let _ = unlinkat(dir, &passing, AtFlags::empty());
        UnnamedFile::create_named(dir, passing)
    }

    /// The same while programs look on, who are to see nothing of it: on the way of moving files,
    /// under a name that nothing else there has.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn create_on_staging_path(
        passage: &'d StagingPath,
        name: CString,
    ) -> Result<UnnamedFile<'d>, Errno> {
        UnnamedFile::create_named(passage.dir(), name)
    }

    fn create_named(dir: &'d OwnedFd, passing: CString) -> Result<UnnamedFile<'d>, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // The owner's alone until it is whole.
        let file = openat(dir, &passing, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(UnnamedFile { file, dir, passing, named: true })
    }

    /// Gives it the name, over whatever has it if `replace`.
    pub(super) fn give_name(
        mut self,
        (dir, name): (&OwnedFd, &CStr),
        replace: bool,
    ) -> Result<(), Errno> {
        let (from, passing) = (self.dir, self.passing.as_c_str());
        if self.named {
            let [this, there] =
                [statx_nofollow(self.file.as_fd(), c""), statx_nofollow(from.as_fd(), passing)];
            if DirKey::from_statx(&this?) != DirKey::from_statx(&there?) {
                return Err(Errno::STALE);
            }
            let done = match replace {
                true => renameat(from, passing, dir, name),
                false => renameat_with(from, passing, dir, name, RenameFlags::NOREPLACE),
            };
            return match done {
                // NFS and others know no such rename. A link replaces nothing either.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if !replace => {
                    linkat(from, passing, dir, name, AtFlags::empty())
                }
                other => {
                    self.named = other.is_err();
                    other
                }
            };
        }
        let follow = AtFlags::SYMLINK_FOLLOW;
        match linkat(CWD, proc_fd_path(self.file.as_fd()), dir, name, follow) {
            Err(Errno::EXIST) if replace => {
                let _ = unlinkat(from, passing, AtFlags::empty());
                linkat(CWD, proc_fd_path(self.file.as_fd()), from, passing, follow)?;
                let done = renameat(from, passing, dir, name);
                self.named = done.is_err();
                done
            }
            other => other,
        }
    }
}

fn staging_name(found: &PackedEntry) -> CString {
    CString::new(format!(".forebay.packed.{:x}", found.ino)).expect("digits hold no NUL")
}
