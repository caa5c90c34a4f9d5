//! Finding directories in place again: where they were when their first file was packed, or wherever
//! they have been moved to since.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Dir, FileType, Mode, Statx, Timestamps, fchmod, futimens};
use rustix::time::Timespec;

use crate::native::{device_of, stat_of};
use crate::pack::{DirKey, PackedDir, Time};
use crate::tiers::OWN;

/// A directory in place.
pub(super) struct Place {
    pub(super) fd: OwnedFd,
    pub(super) key: DirKey,
    pub(super) path: PathBuf,
}

/// A directory that its owner may write to for a moment; dropped, it is as it was.
pub(super) struct OpenedUp<'p>(&'p Place, Option<Mode>);

impl Drop for OpenedUp<'_> {
    fn drop(&mut self) {
        if let Some(mode) = self.1 {
            if let Err(error) = fchmod(&self.0.fd, mode) {
                tracing::error!(
                    "{} keeps a permission that was lent: {error}",
                    self.0.path.display()
                );
            }
        }
    }
}

impl Place {
    /// Lets its owner make files in it.
    pub(super) fn open_up(&self) -> OpenedUp<'_> {
        let stat = stat_of(self.fd.as_fd(), c"");
        let mode = stat.map(|stat| Mode::from_raw_mode(u32::from(stat.stx_mode) & 0o7777));
        let mode = mode.ok().filter(|mode| fchmod(&self.fd, *mode | Mode::RWXU).is_ok());
        OpenedUp(self, mode)
    }

    /// Gives it back the times that it had.
    pub(super) fn set_times(&self, stat: &Statx) {
        let time = |time: Time| Timespec { tv_sec: time.sec, tv_nsec: time.nsec as _ };
        let times = Timestamps {
            last_access: time(Time::of(&stat.stx_atime)),
            last_modification: time(Time::of(&stat.stx_mtime)),
        };
        // Without: its times are those of its last file that came home.
        let _ = futimens(&self.fd, &times);
    }
}

/// The directories that there are, of those that have packed files.
pub(super) fn find(root: &OwnedFd, dirs: &[PackedDir]) -> HashMap<DirKey, Arc<Place>> {
    // A descriptor for each.
    crate::descriptors::take_all();
    let mut places = HashMap::new();
    let mut moved = HashSet::new();
    for PackedDir { key, path, .. } in dirs {
        let path = PathBuf::from(OsStr::from_bytes(path));
        match open_dir(root, &path).filter(|(_, now)| now == key) {
            Some((fd, key)) => drop(places.insert(key, Arc::new(Place { fd, key, path }))),
            None => drop(moved.insert(*key)),
        }
    }
    if !moved.is_empty() {
        let device = stat_of(root.as_fd(), c"").map_or(0, |stat| device_of(&stat));
        walk(root, device, &mut PathBuf::new(), &mut moved, &mut places);
    }
    places
}

fn walk(
    dir: &OwnedFd,
    device: u64,
    path: &mut PathBuf,
    moved: &mut HashSet<DirKey>,
    places: &mut HashMap<DirKey, Arc<Place>>,
) {
    let Ok(entries) = Dir::read_from(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let dots = matches!(name.to_bytes(), b"." | b"..");
        let own = path.as_os_str().is_empty() && name.to_bytes() == OWN.as_bytes();
        let may_be = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if dots || own || !may_be || moved.is_empty() {
            continue;
        }
        let name = OsStr::from_bytes(name.to_bytes());
        let Some((fd, key)) = open_dir(dir, Path::new(name)) else { continue };
        if !stat_of(fd.as_fd(), c"").is_ok_and(|stat| device_of(&stat) == device) {
            continue;
        }
        path.push(name);
        walk(&fd, device, path, moved, places);
        if moved.remove(&key) {
            places.insert(key, Arc::new(Place { fd, key, path: path.clone() }));
        }
        path.pop();
    }
}

/// A directory in place, opened.
fn open_dir(root: &OwnedFd, path: &Path) -> Option<(OwnedFd, DirKey)> {
    let fd = super::find::below(root, path).ok()?;
    let key = DirKey::of(&stat_of(fd.as_fd(), c"").ok()?);
    Some((fd, key))
}
