//! What need not be asked again: names, their absence and attributes in place, where a rule says
//! for how long they may be believed ([[trust]]). On network storage each question is a journey.
//!
//! What is known of a directory is in `folder`; here is what it saves, and what tells it of our
//! own changes. Whatever a question would have been answered by is asked as soon as the time is
//! over, and files are opened at home as ever.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, RawDir, Statx, Timestamps, accessat, openat, utimensat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::folder::{Folder, Known, Right};
use super::{Identity, Native, Node, Result, Seen, TRUST, proc_path, stat_of};
use crate::pack::Time;

/// A directory with more names than this is not listed: it would take longer than what it saves.
const NAMES_MAX: usize = 20_000;
/// How long the times of a directory in place may be behind its packed names, in nanoseconds.
const BEHIND_MAX: u64 = 1_000_000_000;

/// Something in a directory is changed as long as this lives.
pub(super) struct Changing<'n>(Option<&'n Folder>);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        if let Some(folder) = self.0 {
            folder.end();
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
    fn trust_of(&self, node: &Node) -> Option<Duration> {
        let tiers = self.tiers.as_ref().filter(|tiers| tiers.trusts())?;
        tiers.trust(&self.path_of(node))
    }

    /// The same of a name in a directory, and of its absence.
    pub(super) fn trust_in(&self, dir: &Node, name: &CStr) -> Option<Duration> {
        let tiers = self.tiers.as_ref().filter(|tiers| tiers.trusts())?;
        let mut path = self.path_of(dir);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
        tiers.trust(&path)
    }

    /// How long the kernel may believe attributes. They can change without any event (shared
    /// writable mappings), so those of a file that somebody writes are asked for again soon, and
    /// those of a file that somebody outside writes, each time.
    pub(super) fn attr_trust(&self, node: &Node) -> Duration {
        if node.foreign.load(Relaxed) {
            return Duration::ZERO;
        }
        // Links can be followed from outside, and bodies come home.
        let may_be = self.trusts() && node.placed.get().is_none();
        if !may_be || node.open.lock().handles.iter().any(|handle| handle.writes) {
            return TRUST;
        }
        self.trust_of(node).map_or(TRUST, |trust| trust.max(TRUST))
    }

    /// Notes what the kernel is told of a file in place, for [`Native::opened_anew`].
    pub(super) fn told(&self, node: &Node, stat: &Statx) {
        if self.trusts() && node.is_in_place() && !node.is_dir() {
            node.told.store(stamp(stat), Relaxed);
        }
    }

    /// A file is opened that reads as `stat`, or `None`: to be written. What the kernel was told of
    /// it must not outlive a change from outside, nor be believed for long while it is written.
    pub(super) fn opened_anew(&self, node: &Node, stat: Option<&Statx>) {
        let as_told = |stat| !node.is_in_place() || node.told.load(Relaxed) == stamp(stat);
        if self.trusts()
            && !stat.is_some_and(as_told)
            && let Some(device) = self.device()
        {
            device.invalidate_node(node.id, false);
        }
    }

    /// We are about to change `name` in a directory, or with `None` the directory itself.
    pub(super) fn changing<'n>(&self, dir: &'n Node, name: Option<&CStr>) -> Changing<'n> {
        let folder = (dir.is_dir() && self.trusts()).then(|| dir.folder());
        if let Some(folder) = folder {
            folder.begin(name);
        }
        Changing(folder)
    }

    /// We have made a directory.
    pub(super) fn is_new(&self, up: &Node, dir: &Node) {
        if self.trusts() {
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
        if let Some(node) = self.table.find(Identity::of(&seen.stat)).filter(|node| node.is_dir()) {
            folder.keep_dir(changes, now, name, node.id);
        }
        Ok(seen)
    }

    fn list_names(&self, folder: &Folder, fd: BorrowedFd<'_>) {
        if !folder.begin_listing() {
            return;
        }
        let began = super::boot_nanos();
        let names = self.wardrobe.undressed(|| self.with_room(|| names_in(fd)));
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
        Ok(folder.keep(changes, now, stat_of(fd, c"")?))
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

    /// A directory changes with its packed names: now, or soon where it is believed for longer.
    pub(super) fn touch_dir(&self, dir: &Arc<Node>, fd: BorrowedFd<'_>) {
        match (self.trust_of(dir), self.pack()) {
            (Some(_), Some(pack)) => {
                if dir.folder().touch(pack.now(), super::boot_nanos()) {
                    self.touched.lock().push(Arc::clone(dir));
                }
            }
            _ => self.set_time(fd, None),
        }
    }

    /// Sets the times in place of directories whose packed names changed, if that is some time ago.
    pub(crate) fn set_times_behind(&self) {
        let now = super::boot_nanos();
        let is_due =
            |since: Option<u64>| since.is_none_or(|at| now.saturating_sub(at) > BEHIND_MAX);
        let due: Vec<_> = {
            let mut touched = self.touched.lock();
            touched.extract_if(.., |dir| is_due(dir.folder().touched_since())).collect()
        };
        due.iter().for_each(|dir| self.set_times(dir));
    }

    /// The same of all, at once.
    pub(crate) fn set_all_times(&self) {
        let all = std::mem::take(&mut *self.touched.lock());
        all.iter().for_each(|dir| self.set_times(dir));
    }

    /// Sets the times of one directory, before they are asked for or set otherwise.
    pub(super) fn set_times(&self, dir: &Arc<Node>) {
        let known = dir.folder.get().and_then(|folder| folder.take_touched());
        let Some((time, Ok(fd))) = known.map(|time| (time, self.dir_fd_of(dir))) else { return };
        let _change = self.changing_times(dir);
        let older = |stat: Statx| Time::of(&stat.stx_mtime) < time;
        if stat_of(fd.as_fd(), c"").is_ok_and(older) {
            self.wardrobe.undressed(|| self.set_time(fd.as_fd(), Some(time)));
        }
    }

    /// Only times change: what is known of names and rights stays.
    fn changing_times<'n>(&self, dir: &'n Node) -> Changing<'n> {
        let folder = dir.folder();
        folder.begin_times();
        Changing(Some(folder))
    }

    fn set_time(&self, fd: BorrowedFd<'_>, time: Option<Time>) {
        self.wardrobe.undress();
        let spec = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
        let (now, omit) = (spec(libc::UTIME_NOW), spec(libc::UTIME_OMIT));
        let exact = time.map(|time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ });
        let modified = Timestamps { last_access: omit, last_modification: exact.unwrap_or(now) };
        let path = proc_path(fd);
        if utimensat(CWD, &path, &modified, AtFlags::empty()).is_err() {
            // Who may write, but does not own, may only set both.
            let both = Timestamps { last_access: now, last_modification: now };
            let _ = utimensat(CWD, &path, &both, AtFlags::empty());
        }
    }
}

/// By what a file is told from what it was. It has to differ from what no file was told yet.
fn stamp(stat: &Statx) -> u64 {
    let times = [&stat.stx_mtime, &stat.stx_ctime].map(|time| (time.tv_sec, time.tv_nsec));
    let hasher = std::hash::BuildHasherDefault::<rustc_hash::FxHasher>::default();
    std::hash::BuildHasher::hash_one(&hasher, (times, stat.stx_size, stat.stx_mode)) | 1
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
