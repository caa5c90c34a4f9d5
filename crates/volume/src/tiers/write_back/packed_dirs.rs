//! Finding directories in place again: where they were when their first file was packed, or wherever
//! they have been moved to since. There may be more of them than a process may have files open, so
//! each is opened when its files come home.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, Statx};
use rustix::io::Errno;

use crate::tiers::beneath::open_below;
use crate::tiers::lent_permissions::{
    LentDirectoryPermission, lend_permissions, lend_permissions_on_path,
};
use crate::tiers::walk::{WalkMode, walk_tree};
use crate::tiers::workers::{FAR, run_in_parallel};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::{DirKey, PackedDir};

/// A directory in place, open.
pub(super) struct OpenedDirectory {
    pub(super) fd: OwnedFd,
    pub(super) key: DirKey,
    /// As it was when it was opened.
    pub(super) stat: Statx,
    pub(super) path: PathBuf,
}

impl OpenedDirectory {
    /// Opens a directory that was found; it may be closed to its owner above.
    pub(super) fn open(root: &OwnedFd, path: &Path, key: DirKey) -> Option<Arc<OpenedDirectory>> {
        Self::try_open(root, path, key, WalkMode::OpenUp).ok()
    }

    /// Opens several, at a time where it can be; those that can't be opened are left out.
    pub(super) fn open_all(
        root: &OwnedFd,
        places: &[(DirKey, &Path)],
    ) -> Vec<Arc<OpenedDirectory>> {
        let open = |(key, path): &(DirKey, &Path)| Self::try_open(root, path, *key, WalkMode::Look);
        let opened = run_in_parallel(FAR, places, |place, _| open(place), |_| ());
        let again = |((key, path), opened): (&(DirKey, &Path), Result<_, Errno>)| match opened {
            Err(Errno::ACCESS) => Self::open(root, path, *key),
            opened => opened.ok(),
        };
        places.iter().zip(opened).filter_map(again).collect()
    }

    fn try_open(
        root: &OwnedFd,
        path: &Path,
        key: DirKey,
        mode: WalkMode,
    ) -> Result<Arc<OpenedDirectory>, Errno> {
        let (fd, stat) = open_with_stat(root, path, mode)?;
        if DirKey::from_statx(&stat) != key {
            return Err(Errno::STALE);
        }
        Ok(Arc::new(OpenedDirectory { fd, key, stat, path: path.to_owned() }))
    }

    /// Lets its owner make files in it, for a moment.
    pub(super) fn lend_permissions(&self) -> Option<LentDirectoryPermission> {
        lend_permissions(self.fd.as_fd(), &statx_nofollow(self.fd.as_fd(), c"").ok()?, Mode::RWXU)
    }
}

/// Where the directories are that there are, of those that have packed files.
pub(super) fn find_in_place(
    root: &OwnedFd,
    dirs: &[PackedDir],
    walking: WalkMode,
) -> HashMap<DirKey, PathBuf> {
    let mut places = HashMap::new();
    let mut moved = HashSet::new();
    let path_of = |dir: &PackedDir| PathBuf::from(OsStr::from_bytes(&dir.path));
    let key_now = |dir: &PackedDir, mode| {
        Ok(DirKey::from_statx(&open_with_stat(root, &path_of(dir), mode)?.1))
    };
    let looked = run_in_parallel(FAR, dirs, |dir, _| key_now(dir, WalkMode::Look), |_| ());
    for (dir, looked) in dirs.iter().zip(looked) {
        // What is lent on the way to one is taken back under the feet of another: one at a time.
        let now = match looked {
            Err(Errno::ACCESS) => key_now(dir, walking),
            now => now,
        };
        match now {
            Ok(now) if now == dir.key => drop(places.insert(dir.key, path_of(dir))),
            _ => drop(moved.insert(dir.key)),
        }
    }
    if !moved.is_empty() {
        // Those that may not be looked into are told where a directory is missed.
        walk_tree(root, walking, &mut |dir, name, kind, path| {
            if kind == FileType::Directory
                && let Ok(stat) = statx_nofollow(dir.as_fd(), name)
                && moved.remove(&DirKey::from_statx(&stat))
            {
                places.insert(DirKey::from_statx(&stat), path.to_owned());
            }
        });
    }
    places
}

/// Why a directory was not found, in words.
pub(super) fn why_not_found(root: &OwnedFd, path: &[u8]) -> &'static str {
    match open_below(root, Path::new(OsStr::from_bytes(path))) {
        Err(Errno::ACCESS) => "its directory may not be looked into by this user",
        Err(Errno::MFILE | Errno::NFILE) => "too many files are open to look into its directory",
        _ => "its directory is gone",
    }
}

/// A directory in place, opened, and which one it is.
fn open_with_stat(
    root: &OwnedFd,
    path: &Path,
    walking: WalkMode,
) -> Result<(OwnedFd, Statx), Errno> {
    let fd = match open_below(root, path) {
        Err(Errno::ACCESS) if walking == WalkMode::OpenUp => {
            // The directory itself need not be open for that.
            let _opened = lend_permissions_on_path(root, path);
            open_below(root, path)
        }
        fd => fd,
    }?;
    let stat = statx_nofollow(fd.as_fd(), c"")?;
    Ok((fd, stat))
}
