//! Walks through all names below a directory: by descriptors, without ever following a link, however
//! deep it goes.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::OWN;
use super::home::Left;
use super::home::find::held;
use super::home::opened::{OpenedUp, open_up};
use crate::native::{Identity, device_of, stat_of};

/// How a directory is entered.
const INTO: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How one is held whose names nobody lists: that it may be searched is enough.
pub(super) const HOLD: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What a walk may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walking {
    /// Look, and change nothing.
    Look,
    /// Open, for a moment, the directories that this user has closed.
    OpenUp,
}

/// Shows `meet` every name below `root`, of which none is Forebay's own or on another file system:
/// its directory, the name, what it is, and its path; a directory's before those in it. Tells which
/// directories could not be looked into.
pub(super) fn walk(root: &OwnedFd, walking: Walking, meet: Meet<'_>) -> Vec<Left> {
    let device = stat_of(root.as_fd(), c"").map_or(0, |stat| device_of(&stat));
    let mut walk = Walk { meet, device, walking, closed: Vec::new(), levels: Vec::new() };
    walk.all(root);
    walk.closed
}

type Meet<'a> = &'a mut dyn FnMut(&OwnedFd, &CStr, FileType, &Path);

/// Directories of a way down that stay open; those above are opened again from below. A path may be
/// deeper than a process may have files open.
const KEPT_OPEN: usize = 64;

/// A walk by descriptors: paths may be longer than the kernel takes at once, and nobody can slip a
/// link in between.
struct Walk<'a> {
    meet: Meet<'a>,
    /// Other file systems are not entered.
    device: u64,
    walking: Walking,
    closed: Vec<Left>,
    /// From the top to where the walk is.
    levels: Vec<Level>,
}

/// A directory that the walk is in.
struct Level {
    held: Option<OwnedFd>,
    identity: Identity,
    /// Directories in it that are still to be looked into.
    left: Vec<CString>,
    /// Closed again when the walk leaves.
    _opened: Option<OpenedUp>,
}

impl Walk<'_> {
    fn all(&mut self, root: &OwnedFd) {
        let mut path = PathBuf::new();
        self.enter(root, c".", &path);
        while let Some(level) = self.levels.last_mut() {
            let Some(name) = level.left.pop() else {
                let left = self.levels.pop();
                path.pop();
                // Before it is closed again: then its owner could not search it for `..`.
                self.come_back(left.as_ref().and_then(|level| level.held.as_ref()), &path);
                continue;
            };
            // It was opened when the walk came here, or came back.
            let Some(above) = level.held.take() else { continue };
            path.push(OsStr::from_bytes(name.to_bytes()));
            let depth = self.levels.len();
            self.enter(&above, &name, &path);
            self.levels[depth - 1].held = Some(above);
            if self.levels.len() == depth {
                path.pop();
            } else if let Some(far) = self.levels.len().checked_sub(KEPT_OPEN + 1) {
                self.levels[far].held = None;
            }
        }
    }

    /// Opens the directory above again, if the walk let go of it.
    fn come_back(&mut self, from: Option<&OwnedFd>, path: &Path) {
        let Some(level) = self.levels.last_mut().filter(|level| level.held.is_none()) else {
            return;
        };
        let above = from.ok_or(Errno::STALE).and_then(|from| {
            let above = held(from, OsStr::new(".."))?;
            let is_same = Identity::of(&stat_of(above.as_fd(), c"")?) == level.identity;
            if is_same { Ok(above) } else { Err(Errno::STALE) }
        });
        match above {
            Ok(above) => level.held = Some(above),
            // Somebody moved the one below meanwhile.
            Err(error) => {
                level.left.clear();
                self.closed.push(Left { path: path.to_owned(), why: error.to_string() });
            }
        }
    }

    fn enter(&mut self, above: &OwnedFd, name: &CStr, path: &Path) {
        match self.look_into(above, name, path) {
            Ok(level) => self.levels.extend(level),
            Err(error) => {
                self.closed.push(Left { path: path.to_owned(), why: error.to_string() });
            }
        }
    }

    /// Meets the names in a directory; `None` on another file system.
    fn look_into(
        &mut self,
        above: &OwnedFd,
        name: &CStr,
        path: &Path,
    ) -> Result<Option<Level>, Errno> {
        let held = openat(above, name, HOLD, Mode::empty())?;
        let stat = stat_of(held.as_fd(), c"")?;
        if device_of(&stat) != self.device {
            return Ok(None);
        }
        let lends = self.walking == Walking::OpenUp && !rustix::process::geteuid().is_root();
        let need = Mode::RUSR | Mode::XUSR;
        let opened = lends.then(|| open_up(held.as_fd(), &stat, need)).flatten();
        let dir = openat(&held, c".", INTO, Mode::empty())?;
        let mut left = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..")
                || path.as_os_str().is_empty() && name.to_bytes() == OWN.as_bytes()
            {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = stat_of(dir.as_fd(), name)?;
                    FileType::from_raw_mode(u32::from(stat.stx_mode))
                }
                kind => kind,
            };
            if kind == FileType::Directory {
                left.push(name.to_owned());
            }
            (self.meet)(&dir, name, kind, &path.join(OsStr::from_bytes(name.to_bytes())));
        }
        let identity = Identity::of(&stat);
        Ok(Some(Level { held: Some(held), identity, left, _opened: opened }))
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, files in deep directories stay on their tiers.
    use std::fs::{create_dir, create_dir_all, write};

    use super::*;

    #[test]
    fn a_way_down_is_as_deep_as_it_is() {
        let top = tempfile::tempdir().expect("made");
        let depth = 3 * KEPT_OPEN;
        let mut deep = top.path().to_owned();
        for level in 0..depth {
            deep.push("d");
            create_dir(&deep).expect("made");
            create_dir_all(deep.with_file_name("after/in")).expect("made");
            write(deep.join("file"), level.to_string()).expect("written");
        }
        create_dir_all(top.path().join(OWN).join("hidden")).expect("made");
        let root = openat(rustix::fs::CWD, top.path(), INTO, Mode::empty()).expect("open");
        let (mut files, mut dirs) = (Vec::new(), 0);
        let closed = walk(&root, Walking::Look, &mut |dir, name, kind, path| {
            assert_eq!(stat_of(dir.as_fd(), name).is_ok(), path.file_name().is_some());
            match kind {
                FileType::RegularFile => files.push(path.components().count()),
                FileType::Directory => dirs += 1,
                other => panic!("{other:?}"),
            }
        });
        files.sort_unstable();
        assert_eq!(files, (2..depth + 2).collect::<Vec<_>>());
        assert_eq!((dirs, closed.len()), (3 * depth, 0));
    }
}
