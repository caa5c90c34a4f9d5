//! A tree that the bucket knows, on a machine that has nothing of it: directories, links, and plain
//! files without their bytes (*placeholders*), which come when somebody reads them. A placeholder is
//! a hole as long as the file, with the file's attributes and a mark of ours.

mod marked;
mod synced;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Timestamps, Uid, XattrFlags, chownat, fchmod, fchown,
    fsetxattr, ftruncate, futimens, linkat, mkdirat, mknodat, openat, symlinkat, utimensat,
};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::placeholder::AWAY;
use super::scan::TreeScanner;
use super::tree::{ROOT, VolumeFile, VolumeTree};
use super::tree_record::{Attr, Kind};
pub(crate) use marked::open_evicted_files;
pub(crate) use synced::{SyncMark, mark_synced};

type Result<T> = std::result::Result<T, Errno>;

const INTO: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);

/// Makes all of a tree in an empty directory, and tells `scan` which file is which.
///
/// # Errors
/// Those of the file system: one without extended attributes can't be used.
pub(crate) fn make_placeholder_tree(
    root: &OwnedFd,
    tree: &VolumeTree,
    scan: &mut TreeScanner,
) -> Result<()> {
    let mut maker = PlaceholderBuilder { root, tree, scan, made: Default::default() };
    let top = openat(root, c".", INTO, Mode::empty())?;
    maker.make_directory(&top, ROOT, b"")?;
    match tree.file(ROOT) {
        Some(file) => set_attributes(&top, file.attr),
        None => Ok(()),
    }
}

struct PlaceholderBuilder<'a> {
    root: &'a OwnedFd,
    tree: &'a VolumeTree,
    scan: &'a mut TreeScanner,
    /// Where files with several names were made.
    made: std::collections::BTreeMap<u64, Vec<u8>>,
}

impl PlaceholderBuilder<'_> {
    fn make_directory(&mut self, fd: &OwnedFd, ino: u64, path: &[u8]) -> Result<()> {
        let tree = self.tree;
        let Some(folder) = tree.file(ino) else { return Ok(()) };
        for (name, ino) in &folder.names {
            let Some(file) = tree.file(*ino) else { continue };
            let whole = super::tree::join_path(path, name.as_bytes());
            let name = CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)?;
            if let Some(first) = self.made.get(ino) {
                linkat(self.root, first.as_slice(), fd, &name, AtFlags::empty())?;
                continue;
            }
            if file.links > 1 {
                self.made.insert(*ino, whole.clone());
            }
            self.make_entry(fd, &name, (*ino, file), &whole)?;
            self.scan.adopt_unchanged(fd, &name, *ino)?;
        }
        Ok(())
    }

    fn make_entry(
        &mut self,
        fd: &OwnedFd,
        name: &CString,
        (ino, file): (u64, &VolumeFile),
        path: &[u8],
    ) -> Result<()> {
        match &file.kind {
            Kind::Folder => {
                mkdirat(fd, name, Mode::RWXU)?;
                let inner = openat(fd, name, INTO, Mode::empty())?;
                self.make_directory(&inner, ino, path)?;
                // Or what is in it would inherit its access control list.
                set_xattrs(&inner, file)?;
                set_attributes(&inner, file.attr)
            }
            _ => make_placeholder(fd, name, file),
        }
    }
}

/// Makes a file that is no folder, without its bytes.
///
/// # Errors
/// Those of the file system.
pub(crate) fn make_placeholder(fd: &OwnedFd, name: &CStr, file: &VolumeFile) -> Result<()> {
    match &file.kind {
        Kind::Folder => Err(Errno::ISDIR),
        Kind::Plain => {
            let made = openat(fd, name, NEW, Mode::from_raw_mode(0o600))?;
            if file.place.size() > 0 {
                ftruncate(&made, file.place.size())?;
                fsetxattr(&made, AWAY, b"1", XattrFlags::CREATE)?;
            }
            set_xattrs(&made, file)?;
            set_attributes(&made, file.attr)
        }
        Kind::Link(target) => {
            symlinkat(target.as_slice(), fd, name)?;
            set_attributes_by_name(fd, name, file.attr)
        }
        Kind::Special { mode, device } => {
            let kind = FileType::from_raw_mode(*mode);
            mknodat(fd, name, kind, Mode::from_raw_mode(file.attr.mode), *device)?;
            set_attributes_by_name(fd, name, file.attr)
        }
    }
}

/// Gives a file its extended attributes.
///
/// # Errors
/// Those of the file system.
pub(crate) fn set_xattrs(made: &OwnedFd, file: &VolumeFile) -> Result<()> {
    let set = |(name, value): (&Vec<u8>, &Vec<u8>)| {
        fsetxattr(made, name.as_slice(), value, XattrFlags::empty())
    };
    file.extended.iter().try_for_each(set)
}

fn owner_ids(attr: Attr) -> (Option<Uid>, Option<Gid>) {
    (Some(Uid::from_raw(attr.uid)), Some(Gid::from_raw(attr.gid)))
}

fn to_timestamps(attr: Attr) -> Timestamps {
    let time = Timespec { tv_sec: attr.mtime.sec, tv_nsec: attr.mtime.nsec.into() };
    Timestamps { last_access: time, last_modification: time }
}

/// Owner, as far as this user may give it, and time of what can't be opened.
///
/// # Errors
/// Those of the file system.
pub(crate) fn set_attributes_by_name(folder: &OwnedFd, name: &CStr, attr: Attr) -> Result<()> {
    let (uid, gid) = owner_ids(attr);
    // Who may not give it away keeps it.
    let _ = chownat(folder, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW);
    utimensat(folder, name, &to_timestamps(attr), AtFlags::SYMLINK_NOFOLLOW)
}

/// Owner, as far as this user may give it, mode and time.
///
/// # Errors
/// Those of the file system.
pub(crate) fn set_attributes(file: &OwnedFd, attr: Attr) -> Result<()> {
    let (uid, gid) = owner_ids(attr);
    // Who may not give it away keeps it.
    let _ = fchown(file.as_fd(), uid, gid);
    fchmod(file, Mode::from_raw_mode(attr.mode))?;
    futimens(file, &to_timestamps(attr))
}

#[cfg(test)]
mod tests;
