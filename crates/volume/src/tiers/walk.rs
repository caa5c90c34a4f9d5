//! Walks through all names below a directory: by descriptors, without ever following a link, however
//! deep it goes.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;

use super::OWN;
use super::beneath::{HOLD, hold_directory};
use super::left_behind_files::LeftBehindFile;
use super::lent_permissions::{LentDirectoryPermission, lend_permissions};
use super::workers::{FAR, run_in_parallel};
use forebay_os::file_identity::{FileIdentity, device_number, statx_nofollow};

/// How a directory is entered.
const INTO: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// What a walk may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkMode {
    /// Look, and change nothing.
    Look,
    /// Open, for a moment, the directories that this user has closed.
    OpenUp,
}

/// Shows `meet` every name below `root`, of which none is Forebay's own or on another file system:
/// its directory, the name, what it is, and its path; a directory's before those in it. Tells which
/// directories could not be looked into.
pub(super) fn walk_tree(
    root: &OwnedFd,
    walking: WalkMode,
    meet: EntryVisitor<'_>,
) -> Vec<LeftBehindFile> {
    let is_near = forebay_os::file_systems::file_system_kind(root).is_ok_and(|kind| kind.local);
    walk_with_workers(if is_near { 1 } else { FAR }, root, walking, meet)
}

/// The same, with so many directories listed at a time.
fn walk_with_workers(
    workers: usize,
    root: &OwnedFd,
    walking: WalkMode,
    meet: EntryVisitor<'_>,
) -> Vec<LeftBehindFile> {
    let device = statx_nofollow(root.as_fd(), c"").map_or(0, |stat| device_number(&stat));
    let (closed, levels, ahead) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut walk = Walk { meet, device, walking, workers, closed, levels, ahead };
    walk.walk_all(root);
    walk.closed
}

type EntryVisitor<'a> = &'a mut dyn FnMut(&OwnedFd, &CStr, FileType, &Path);

/// Directories of a way down that stay open; those above are opened again from below. A path may be
/// deeper than a process may have files open.
const KEPT_OPEN: usize = 64;

/// A walk by descriptors: paths may be longer than the kernel takes at once, and nobody can slip a
/// link in between.
struct Walk<'a> {
    meet: EntryVisitor<'a>,
    /// Other file systems are not entered.
    device: u64,
    walking: WalkMode,
    /// Directories that are listed at a time, each a few requests to storage that may be far away.
    workers: usize,
    closed: Vec<LeftBehindFile>,
    /// From the top to where the walk is.
    levels: Vec<Level>,
    /// Directories that the walk will come to, by their paths; `None`: they could not be listed.
    ahead: BTreeMap<PathBuf, Option<ListedDirectory>>,
}

/// A directory that the walk is in.
struct Level {
    held: Option<OwnedFd>,
    identity: FileIdentity,
    /// Directories in it that are still to be looked into.
    left: Vec<CString>,
    /// Closed again when the walk leaves.
    _opened: Option<LentDirectoryPermission>,
}

/// What was in a directory when it was listed ahead of the walk.
struct ListedDirectory {
    held: OwnedFd,
    identity: FileIdentity,
    names: Vec<(CString, FileType)>,
}

/// Directories that hold more names are listed when the walk comes to them, name by name.
const AHEAD_MAX: usize = 10_000;
/// So many names are known ahead of the walk in all.
const AHEAD_ALL: usize = 100_000;
/// So many directories are open ahead of the walk.
const AHEAD_OPEN: usize = 256;

/// Lists a directory ahead of the walk, and lets the kernel know where its links lead. `None`: it
/// holds more names than there is `room` for just now.
///
/// # Errors
/// Those of the file system; E2BIG: it holds too much for that.
fn list_directory_ahead(
    above: &OwnedFd,
    name: &CStr,
    device: u64,
    room: &AtomicUsize,
) -> Result<Option<ListedDirectory>, Errno> {
    let held = openat(above, name, HOLD, Mode::empty())?;
    let stat = statx_nofollow(held.as_fd(), c"")?;
    if device_number(&stat) != device {
        return Err(Errno::XDEV);
    }
    let mut names = Vec::new();
    for entry in Dir::read_from(openat(&held, c".", INTO, Mode::empty())?)? {
        let entry = entry?;
        let kind = entry.file_type();
        if kind == FileType::Unknown || names.len() == AHEAD_MAX {
            return Err(Errno::TOOBIG);
        }
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        if kind == FileType::Symlink {
            // The walk asks again; now the kernel knows.
            let _ = readlinkat(&held, entry.file_name(), Vec::with_capacity(256));
            let _ = statx_nofollow(held.as_fd(), entry.file_name());
        }
        names.push((entry.file_name().to_owned(), kind));
        if room.fetch_update(Relaxed, Relaxed, |room| room.checked_sub(1)).is_err() {
            return Ok(None);
        }
    }
    Ok(Some(ListedDirectory { identity: FileIdentity::from_statx(&stat), held, names }))
}

impl Walk<'_> {
    fn walk_all(&mut self, root: &OwnedFd) {
        let mut path = PathBuf::new();
        self.enter_directory(root, c".", &path, None);
        while let Some(level) = self.levels.last_mut() {
            let Some(name) = level.left.pop() else {
                let left = self.levels.pop();
                path.pop();
                // Before it is closed again: then its owner could not search it for `..`.
                self.reopen_parent(left.as_ref().and_then(|level| level.held.as_ref()), &path);
                continue;
            };
            // It was opened when the walk came here, or came back.
            let Some(above) = level.held.take() else { continue };
            let depth = self.levels.len();
            path.push(OsStr::from_bytes(name.to_bytes()));
            if self.workers > 1 && !self.ahead.contains_key(&path) {
                self.list_ahead(&above, &name, &path);
            }
            let listed = self.ahead.remove(&path).flatten();
            self.enter_directory(&above, &name, &path, listed);
            self.levels[depth - 1].held = Some(above);
            if self.levels.len() == depth {
                path.pop();
            } else if let Some(far) = self.levels.len().checked_sub(KEPT_OPEN + 1) {
                self.levels[far].held = None;
            }
        }
    }

    /// Lists the directory that the walk comes to, those beside it, and those in them, as many at a
    /// time as there are workers: a level of the tree takes no longer than a directory.
    fn list_ahead(&mut self, above: &OwnedFd, name: &CStr, path: &Path) {
        let beside = self.levels.last().map_or(&[][..], |level| &level.left);
        let beside = &beside[beside.len().saturating_sub(self.workers - 1)..];
        let of_name = |name: &CString| {
            (None, name.clone(), path.with_file_name(OsStr::from_bytes(name.to_bytes())))
        };
        let mut wave: Vec<(Option<usize>, CString, PathBuf)> =
            vec![(None, name.to_owned(), path.to_owned())];
        wave.extend(beside.iter().rev().map(of_name));
        wave.retain(|(_, _, path)| !self.ahead.contains_key(path));
        let mut found: Vec<(PathBuf, ListedDirectory)> = Vec::new();
        let known = self.ahead.values().flatten().map(|listed| listed.names.len()).sum();
        let room = AtomicUsize::new(AHEAD_ALL.saturating_sub(known));
        while !wave.is_empty() && room.load(Relaxed) > 0 {
            wave.truncate(AHEAD_OPEN.saturating_sub(self.ahead.len() + found.len()));
            let list = |(parent, name, _): &(Option<usize>, CString, PathBuf), _: &dyn Fn(u64)| {
                let above = parent.map_or(above, |at| &found[at].1.held);
                list_directory_ahead(above, name, self.device, &room)
            };
            let listed = run_in_parallel(self.workers, &wave, list, |_| ());
            let first = found.len();
            for ((_, _, path), listed) in wave.into_iter().zip(listed) {
                match listed {
                    Ok(Some(listed)) => found.push((path, listed)),
                    Ok(None) => {}
                    // The walk itself meets it.
                    Err(_) => drop(self.ahead.insert(path, None)),
                }
            }
            let below = found.iter().enumerate().skip(first).flat_map(|(at, (path, listed))| {
                let directories = listed.names.iter().filter(|(_, kind)| kind.is_dir());
                directories.map(move |(name, _)| {
                    (Some(at), name.clone(), path.join(OsStr::from_bytes(name.to_bytes())))
                })
            });
            wave = below.collect();
        }
        self.ahead.extend(found.into_iter().map(|(path, listed)| (path, Some(listed))));
    }

    /// Opens the directory above again, if the walk let go of it.
    fn reopen_parent(&mut self, from: Option<&OwnedFd>, path: &Path) {
        let Some(level) = self.levels.last_mut().filter(|level| level.held.is_none()) else {
            return;
        };
        let above = from.ok_or(Errno::STALE).and_then(|from| {
            let above = hold_directory(from, OsStr::new(".."))?;
            let is_same =
                FileIdentity::from_statx(&statx_nofollow(above.as_fd(), c"")?) == level.identity;
            if is_same { Ok(above) } else { Err(Errno::STALE) }
        });
        match above {
            Ok(above) => level.held = Some(above),
            // Somebody moved the one below meanwhile.
            Err(error) => {
                level.left.clear();
                self.closed.push(LeftBehindFile { path: path.to_owned(), why: error.to_string() });
            }
        }
    }

    fn enter_directory(
        &mut self,
        above: &OwnedFd,
        name: &CStr,
        path: &Path,
        listed: Option<ListedDirectory>,
    ) {
        match self.read_directory(above, name, path, listed) {
            Ok(level) => self.levels.extend(level),
            Err(error) => {
                self.closed.push(LeftBehindFile { path: path.to_owned(), why: error.to_string() });
            }
        }
    }

    /// Meets the names in a directory; `None` on another file system.
    fn read_directory(
        &mut self,
        above: &OwnedFd,
        name: &CStr,
        path: &Path,
        listed: Option<ListedDirectory>,
    ) -> Result<Option<Level>, Errno> {
        if let Some(ListedDirectory { held, identity, names }) = listed {
            let mut left = Vec::new();
            for (name, kind) in &names {
                self.meet_name(&held, name, *kind, path, &mut left);
            }
            return Ok(Some(Level { held: Some(held), identity, left, _opened: None }));
        }
        let held = openat(above, name, HOLD, Mode::empty())?;
        let stat = statx_nofollow(held.as_fd(), c"")?;
        if device_number(&stat) != self.device {
            return Ok(None);
        }
        let identity = FileIdentity::from_statx(&stat);
        let mut left = Vec::new();
        let lends = self.walking == WalkMode::OpenUp && !rustix::process::geteuid().is_root();
        let need = Mode::RUSR | Mode::XUSR;
        let opened = lends.then(|| lend_permissions(held.as_fd(), &stat, need)).flatten();
        let dir = openat(&held, c".", INTO, Mode::empty())?;
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = statx_nofollow(dir.as_fd(), name)?;
                    FileType::from_raw_mode(u32::from(stat.stx_mode))
                }
                kind => kind,
            };
            self.meet_name(&dir, name, kind, path, &mut left);
        }
        Ok(Some(Level { held: Some(held), identity, left, _opened: opened }))
    }

    /// Meets a name, and notes a directory to look into.
    fn meet_name(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        kind: FileType,
        path: &Path,
        left: &mut Vec<CString>,
    ) {
        let is_own = path.as_os_str().is_empty() && name.to_bytes() == OWN.as_bytes();
        if is_own || matches!(name.to_bytes(), b"." | b"..") {
            return;
        }
        if kind == FileType::Directory {
            left.push(name.to_owned());
        }
        (self.meet)(dir, name, kind, &path.join(OsStr::from_bytes(name.to_bytes())));
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
        // More beside each other than are open at a time.
        let wide = 2 * AHEAD_OPEN;
        for number in 0..wide {
            create_dir_all(top.path().join(format!("wide/{number}/in"))).expect("made");
        }
        let root = openat(rustix::fs::CWD, top.path(), INTO, Mode::empty()).expect("open");
        for workers in [1, FAR] {
            let (mut files, mut dirs) = (Vec::new(), 0);
            let closed =
                walk_with_workers(workers, &root, WalkMode::Look, &mut |dir, name, kind, path| {
                    assert_eq!(
                        statx_nofollow(dir.as_fd(), name).is_ok(),
                        path.file_name().is_some()
                    );
                    match kind {
                        FileType::RegularFile => files.push(path.components().count()),
                        FileType::Directory => dirs += 1,
                        other => panic!("{other:?}"),
                    }
                });
            files.sort_unstable();
            assert_eq!(files, (2..depth + 2).collect::<Vec<_>>());
            assert_eq!((dirs, closed.len()), (3 * depth + 1 + 2 * wide, 0));
        }
    }
}
