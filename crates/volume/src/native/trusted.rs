//! What need not be asked again: names, their absence and attributes in place, where a rule says
//! for how long they may be believed ([[metadata_cache]]). On network storage each question is a journey.
//!
//! What is known of a directory is in `folder`; here is what it saves, and what tells it of our
//! own changes. Whatever a question would have been answered by is asked as soon as the time is
//! over, and files are opened at home as ever.

mod kernel;
#[cfg(test)]
mod tests;
mod times;

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, RawDir, Statx, accessat, openat};
use rustix::io::Errno;

use super::folder::{Folder, Known, Right};
use super::{Native, Node, Result, Seen};
use crate::backend::Inside;
use forebay_os::files::{FileIdentity, proc_path, stat_of};
use forebay_packlog::Time;

/// A directory with more names than this is not listed: it would take longer than what it saves.
const NAMES_MAX: usize = 20_000;
/// Names that are longer, in bytes, are always asked for: the storage may refuse them.
const SURELY_A_NAME: usize = 128;

/// Something in a directory is changed as long as this lives.
pub(super) struct Changing<'n> {
    native: &'n Native,
    folder: Option<&'n Folder>,
    /// Its names, and so its time of modification.
    names: bool,
    _inside: Option<Inside<'n>>,
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        if let (Some(folder), false) = (self.folder, self.names) {
            folder.end_times();
        } else if let Some(folder) = self.folder {
            let now = || self.native.pack().map_or_else(Time::default, |pack| pack.now());
            folder.end(now);
        }
    }
}

fn nanos(trust: Duration) -> u64 {
    u64::try_from(trust.as_nanos()).unwrap_or(u64::MAX)
}

impl Native {
    /// Whether anything is believed for longer than without rules.
    fn trusts(&self) -> bool {
        self.tiers.as_ref().is_some_and(|tiers| tiers.trusts())
    }

    /// How long a node's attributes may be believed, if a rule says so.
    pub(super) fn trust_of(&self, node: &Node) -> Option<Duration> {
        let tiers = self.tiers.as_ref().filter(|tiers| tiers.trusts())?;
        tiers.trust(&self.path_of(node))
    }

    /// The same of a name in a directory, and of its absence; where a watch tells of changes, that
    /// is better.
    pub(super) fn trust_in(&self, dir: &Node, name: &CStr) -> Option<Duration> {
        let tiers = self.tiers.as_ref().filter(|tiers| tiers.trusts() && !dir.is_watched())?;
        tiers.trust(&self.path_in(dir, name))
    }

    /// We are about to change `name` in a directory, or with `None` the directory itself.
    pub(super) fn changing<'n>(&'n self, dir: &'n Node, name: Option<&CStr>) -> Changing<'n> {
        let inside = self.mark(dir, name);
        let folder = (dir.is_dir() && self.trusts()).then(|| dir.folder());
        if let Some(folder) = folder {
            folder.begin(name);
        }
        Changing { native: self, folder, names: name.is_some(), _inside: inside }
    }

    /// We have made something: a directory is empty.
    pub(super) fn is_new(&self, up: &Node, dir: &Node) {
        if dir.is_dir() && self.trusts() {
            let now = super::boot_nanos();
            let plain = self.trust_of(up).is_some_and(|t| up.folder().is_plain(now, nanos(t)));
            dir.folder().is_new(now, plain);
        }
    }

    /// statx(2) of a name in place, of which it may be known that it is not there.
    pub(super) fn stat_in(&self, dir: &Node, fd: BorrowedFd<'_>, name: &CStr) -> Result<Statx> {
        match self.is_absent(dir, fd, name) {
            true => Err(Errno::NOENT),
            false => stat_of(fd, name),
        }
    }

    /// Whether it is known that nothing in place has this name.
    pub(super) fn is_absent(&self, dir: &Node, fd: BorrowedFd<'_>, name: &CStr) -> bool {
        if name.count_bytes() > SURELY_A_NAME {
            return false;
        }
        let Some(trust) = self.trust_in(dir, name).map(nanos) else { return false };
        let folder = dir.folder();
        let known = match folder.ask(name, super::boot_nanos(), trust) {
            Known::List => {
                self.list_names(folder, fd);
                folder.ask(name, super::boot_nanos(), trust)
            }
            known => known,
        };
        // Who may not search it is to hear that.
        known == Known::Absent && self.check(dir, fd, Right::Search).is_ok()
    }

    /// What a name in place leads to, from what is known of directories.
    pub(super) fn look_known(&self, dir: &Node, fd: BorrowedFd<'_>, name: &CStr) -> Result<Seen> {
        if self.is_absent(dir, fd, name) {
            return Err(Errno::NOENT);
        }
        let Some(trust) = self.trust_in(dir, name).map(nanos) else { return self.look(fd, name) };
        let (folder, now) = (dir.folder(), super::boot_nanos());
        let known = folder.dir(name, now, trust).and_then(|id| self.node(id).ok());
        if let Some(node) = known
            && self.check(dir, fd, Right::Search).is_ok()
            && let Ok(fd) = self.dir_fd_of(&node)
        {
            return self.stat_dir(&node, fd.as_fd()).map(Seen::plain);
        }
        let changes = folder.changes();
        let seen = self.look(fd, name)?;
        if let Some(node) =
            self.table.find(FileIdentity::of(&seen.stat)).filter(|node| node.is_dir())
        {
            folder.keep_dir(changes, now, name, node.id);
        }
        Ok(seen)
    }

    fn list_names(&self, folder: &Folder, fd: BorrowedFd<'_>) {
        if !folder.begin_listing() {
            return;
        }
        let began = super::boot_nanos();
        let names = self.credentials.as_daemon(|| self.with_room(|| names_in(fd)));
        let names = names.ok().flatten();
        folder.listed(began, names.as_ref().map(|names| names.iter().map(Vec::as_slice)));
    }

    /// Attributes of a directory.
    pub(super) fn stat_dir(&self, node: &Node, fd: BorrowedFd<'_>) -> Result<Statx> {
        let Some(trust) = self.trust_of(node).map(nanos) else { return stat_of(fd, c"") };
        let (folder, now) = (node.folder(), super::boot_nanos());
        if let Some(stat) = folder.stat(now, trust) {
            return Ok(stat);
        }
        let changes = folder.changes();
        Ok(folder.keep_stat(changes, now, stat_of(fd, c"")?))
    }

    /// Whether new files in a directory are known to get no access control list from it.
    pub(super) fn is_plain(&self, dir: &Node, ask: impl FnOnce() -> bool) -> bool {
        let Some(trust) = self.trust_of(dir).map(nanos) else { return !ask() };
        let (folder, now) = (dir.folder(), super::boot_nanos());
        if folder.is_plain(now, trust) {
            return true;
        }
        let changes = folder.changes();
        let plain = !ask();
        if plain {
            folder.keep_plain(changes, now);
        }
        plain
    }

    /// Whether the caller may search a directory, or change names in it, where the kernel does not
    /// check: one user is served then.
    pub(super) fn check(&self, dir: &Node, fd: BorrowedFd<'_>, right: Right) -> Result<()> {
        if self.is_shared() {
            return Ok(());
        }
        let trust = self.trust_of(dir).map(nanos);
        let (now, changes) = (super::boot_nanos(), trust.map(|_| dir.folder().changes()));
        if trust.is_some_and(|trust| dir.folder().has(right, now, trust)) {
            return Ok(());
        }
        let access = match right {
            Right::Search => Access::EXEC_OK,
            Right::Change => Access::WRITE_OK | Access::EXEC_OK,
        };
        accessat(CWD, proc_path(fd), access, AtFlags::EACCESS)?;
        if let Some(changes) = changes {
            dir.folder().keep_right(right, changes, now);
        }
        Ok(())
    }
}

/// The names in a directory; `None`: too many.
fn names_in(dir: BorrowedFd<'_>) -> Result<Option<Vec<Vec<u8>>>> {
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
