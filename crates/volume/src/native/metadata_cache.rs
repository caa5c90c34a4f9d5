//! What need not be asked again: names, their absence and attributes in place, where a rule says
//! for how long they may be believed (`[[metadata_cache]]`). On network storage each question is a
//! journey.
//!
//! What is known of a directory is in `directory_cache`; here is what it saves, and what tells it
//! of our own changes. Whatever a question would have been answered by is asked as soon as the time
//! is over, and files are opened at home as ever.

mod attribute_timeouts;
mod deferred_times;
#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, RawDir, Statx, accessat, openat};
use rustix::io::Errno;

use super::directory_cache::{CachedDirectory, DirectoryRight, NamePresence};
use super::{Native, Node, ResolvedName, Result};
use crate::backend::ChangeGuard;
use forebay_os::file_identity::{FileIdentity, proc_fd_path, statx_nofollow};
use forebay_packlog::Time;

/// A directory with more names than this is not listed: it would take longer than what it saves.
const NAMES_MAX: usize = 20_000;
/// Names that are longer, in bytes, are always asked for: the storage may refuse them.
const SURELY_A_NAME: usize = 128;

/// Something in a directory is changed as long as this lives.
pub(super) struct DirectoryChangeGuard<'n> {
    native: &'n Native,
    folder: Option<&'n CachedDirectory>,
    /// Its names, and so its time of modification.
    names: bool,
    _inside: Option<ChangeGuard<'n>>,
}

impl Drop for DirectoryChangeGuard<'_> {
    fn drop(&mut self) {
        if let (Some(folder), false) = (self.folder, self.names) {
            folder.end_times_change();
        } else if let Some(folder) = self.folder {
            let now = || self.native.pack().map_or_else(Time::default, |pack| pack.timestamp_now());
            folder.end_change(now);
        }
    }
}

/// Whether nothing that happens from now on has this time: file systems stamp in steps of up to 10 ms.
fn is_surely_past(time: Time) -> bool {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let nanos = |sec: i64, nsec: i64| i128::from(sec) * 1_000_000_000 + i128::from(nsec);
    nanos(now.tv_sec, now.tv_nsec) - nanos(time.sec, i64::from(time.nsec)) > 20_000_000
}

fn to_nanos(trust: Duration) -> u64 {
    u64::try_from(trust.as_nanos()).unwrap_or(u64::MAX)
}

impl Native {
    /// Whether anything is believed for longer than without rules.
    fn has_metadata_cache(&self) -> bool {
        self.tiers.as_ref().is_some_and(|tiers| tiers.has_metadata_cache())
    }

    /// How long a node's attributes may be believed, if a rule says so.
    pub(super) fn metadata_cache_timeout(&self, node: &Node) -> Option<Duration> {
        let tiers = self.tiers.as_ref().filter(|tiers| tiers.has_metadata_cache())?;
        tiers.metadata_cache_timeout(&self.path_of(node))
    }

    /// The same of a name in a directory, and of its absence; where a watch tells of changes, that
    /// is better.
    pub(super) fn name_cache_timeout(&self, dir: &Node, name: &CStr) -> Option<Duration> {
        let tiers =
            self.tiers.as_ref().filter(|tiers| tiers.has_metadata_cache() && !dir.is_watched())?;
        tiers.metadata_cache_timeout(&self.child_path(dir, name))
    }

    /// We are about to change `name` in a directory, or with `None` the directory itself.
    pub(super) fn begin_change<'n>(
        &'n self,
        dir: &'n Node,
        name: Option<&CStr>,
    ) -> DirectoryChangeGuard<'n> {
        let inside = self.announce_change(dir, name);
        let folder = (dir.is_dir() && self.has_metadata_cache()).then(|| dir.folder());
        if let Some(folder) = folder {
            folder.begin_change(name);
        }
        DirectoryChangeGuard { native: self, folder, names: name.is_some(), _inside: inside }
    }

    /// We have made something: a directory is empty.
    pub(super) fn note_new_directory(&self, up: &Node, dir: &Node) {
        if dir.is_dir() && self.has_metadata_cache() {
            let now = super::boot_nanos();
            let plain = self
                .metadata_cache_timeout(up)
                .is_some_and(|t| up.folder().inherits_no_acl(now, to_nanos(t)));
            dir.folder().mark_newly_made(now, plain);
        }
    }

    /// statx(2) of a name in place, of which it may be known that it is not there.
    pub(super) fn stat_unless_absent(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<Statx> {
        match self.is_known_absent(dir, fd, name) {
            true => Err(Errno::NOENT),
            false => statx_nofollow(fd, name),
        }
    }

    /// Whether it is known that nothing in place has this name.
    pub(super) fn is_known_absent(&self, dir: &Node, fd: BorrowedFd<'_>, name: &CStr) -> bool {
        if name.count_bytes() > SURELY_A_NAME {
            return false;
        }
        let Some(trust) = self.name_cache_timeout(dir, name).map(to_nanos) else { return false };
        let folder = dir.folder();
        let known = match folder.check_name(name, super::boot_nanos(), trust) {
            NamePresence::List => {
                self.list_names(folder, fd);
                folder.check_name(name, super::boot_nanos(), trust)
            }
            known => known,
        };
        // Who may not search it is to hear that.
        known == NamePresence::Absent
            && self.check_directory_right(dir, fd, DirectoryRight::Search).is_ok()
    }

    /// What a name in place leads to, from what is known of directories.
    pub(super) fn resolve_cached_name(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<ResolvedName> {
        if self.is_known_absent(dir, fd, name) {
            return Err(Errno::NOENT);
        }
        self.resolve_present_name(dir, fd, name)
    }

    /// The same of a name that is surely there.
    pub(super) fn resolve_present_name(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        name: &CStr,
    ) -> Result<ResolvedName> {
        let Some(trust) = self.name_cache_timeout(dir, name).map(to_nanos) else {
            return self.resolve_name(fd, name);
        };
        let (folder, now) = (dir.folder(), super::boot_nanos());
        let known = folder.cached_directory(name, now, trust).and_then(|id| self.node(id).ok());
        if let Some(node) = known
            && self.check_directory_right(dir, fd, DirectoryRight::Search).is_ok()
            && let Ok(fd) = self.dir_fd_of(&node)
        {
            return self.stat_dir(&node, fd.as_fd()).map(ResolvedName::in_place);
        }
        let changes = folder.change_count();
        let seen = self.resolve_name(fd, name)?;
        if let Some(node) = self
            .table
            .find_by_identity(FileIdentity::from_statx(&seen.stat))
            .filter(|node| node.is_dir())
        {
            folder.cache_directory(changes, now, name, node.id);
        }
        Ok(seen)
    }

    fn list_names(&self, folder: &CachedDirectory, fd: BorrowedFd<'_>) {
        if !folder.begin_listing() {
            return;
        }
        let began = super::boot_nanos();
        let names =
            self.credentials.run_as_daemon(|| self.with_free_descriptors(|| read_names(fd)));
        let names = names.ok().flatten();
        folder.finish_listing(began, names.as_ref().map(|names| names.iter().map(Vec::as_slice)));
    }

    /// Attributes of a directory.
    pub(super) fn stat_dir(&self, node: &Node, fd: BorrowedFd<'_>) -> Result<Statx> {
        let Some(trust) = self.metadata_cache_timeout(node).map(to_nanos) else {
            let stat = statx_nofollow(fd, c"")?;
            return Ok(node.folder.get().map_or(stat, |folder| folder.exposed_stat(stat)));
        };
        let (folder, now) = (node.folder(), super::boot_nanos());
        if let Some(stat) = folder.cached_stat(now, trust) {
            return Ok(stat);
        }
        let changes = folder.change_count();
        Ok(folder.cache_stat(changes, now, statx_nofollow(fd, c"")?))
    }

    /// Attributes of a directory in which a file is about to be made; `None` where the file may get
    /// an access control list from it.
    ///
    /// # Errors
    /// Those of statx(2).
    pub(super) fn stat_dir_without_acl(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        ask: impl FnOnce() -> bool,
    ) -> Result<Option<Statx>> {
        if self.metadata_cache_timeout(dir).is_some() || !self.is_local() {
            let plain = self.inherits_no_acl(dir, ask);
            return plain.then(|| self.stat_dir(dir, fd)).transpose();
        }
        let (stat, folder) = (statx_nofollow(fd, c"")?, dir.folder());
        // Whoever gives it a list changes the directory, and with that the time of its change.
        let changed = Time::from_timestamp(&stat.stx_ctime);
        if !folder.had_no_acl(changed) {
            if ask() {
                return Ok(None);
            }
            folder.note_no_acl(Some(changed).filter(|_| is_surely_past(changed)));
        }
        Ok(Some(folder.exposed_stat(stat)))
    }

    /// Whether new files in a directory are known to get no access control list from it.
    fn inherits_no_acl(&self, dir: &Node, ask: impl FnOnce() -> bool) -> bool {
        let Some(trust) = self.metadata_cache_timeout(dir).map(to_nanos) else { return !ask() };
        let (folder, now) = (dir.folder(), super::boot_nanos());
        if folder.inherits_no_acl(now, trust) {
            return true;
        }
        let changes = folder.change_count();
        let plain = !ask();
        if plain {
            folder.cache_no_acl(changes, now);
        }
        plain
    }

    /// Whether the caller may search a directory, or change names in it, where the kernel does not
    /// check: one user is served then.
    pub(super) fn check_directory_right(
        &self,
        dir: &Node,
        fd: BorrowedFd<'_>,
        right: DirectoryRight,
    ) -> Result<()> {
        if self.is_shared() {
            return Ok(());
        }
        let trust = self.metadata_cache_timeout(dir).map(to_nanos);
        let (now, changes) = (super::boot_nanos(), trust.map(|_| dir.folder().change_count()));
        if trust.is_some_and(|trust| dir.folder().has_right(right, now, trust)) {
            return Ok(());
        }
        let access = match right {
            DirectoryRight::Search => Access::EXEC_OK,
            DirectoryRight::Change => Access::WRITE_OK | Access::EXEC_OK,
        };
        accessat(CWD, proc_fd_path(fd), access, AtFlags::EACCESS)?;
        if let Some(changes) = changes {
            dir.folder().cache_right(right, changes, now);
        }
        Ok(())
    }
}

/// The names in a directory; `None`: too many.
fn read_names(dir: BorrowedFd<'_>) -> Result<Option<Vec<Vec<u8>>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(dir, c".", flags, Mode::empty())?;
    let mut buffer = Vec::with_capacity(32 << 10);
    let mut entries = RawDir::new(&fd, buffer.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        names.push(entry?.file_name().to_bytes().to_vec());
        if names.len() > NAMES_MAX {
            return Ok(None);
        }
    }
    Ok(Some(names))
}
