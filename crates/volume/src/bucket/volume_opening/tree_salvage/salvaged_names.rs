//! Names for what is saved of a tree of which parts may be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, linkat, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::super::super::placeholder_tree::set_attributes;
use super::super::super::tree::{ROOT, VolumeTree, join_path};
use super::super::super::tree_record::{Attr, Kind, Time};
use super::{Result, Salvage, directory_flags};
use forebay_os::file_identity::statx_nofollow;

impl Salvage<'_> {
    /// A file of the old tree gets a name in the new one.
    pub(super) fn replace_name(&self, from: &[u8], new: &OwnedFd, to: &[u8]) -> Result<()> {
        remove_name(new, to)?;
        self.link_name(from, new, to)
    }

    pub(super) fn link_name(&self, from: &[u8], to: &OwnedFd, name: &[u8]) -> Result<()> {
        let link = || linkat(self.old, from, to, name, AtFlags::empty());
        match link() {
            Err(Errno::NOENT) => {
                self.make_parent_directories(to, name)?;
                link()
            }
            done => done,
        }
    }

    /// Makes the folders of a path, as they are in the old tree.
    fn make_parent_directories(&self, root: &OwnedFd, path: &[u8]) -> Result<()> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        for end in ends {
            let folder = &path[..end];
            match mkdirat(root, folder, Mode::RWXU) {
                Err(Errno::EXIST) => continue,
                done => done?,
            }
            let Ok(old) = openat(self.old, folder, directory_flags(), Mode::empty()) else {
                continue;
            };
            let stat = statx_nofollow(old.as_fd(), c"")?;
            let mtime = Time { sec: stat.stx_mtime.tv_sec, nsec: stat.stx_mtime.tv_nsec };
            // Whoever it was lets its owner put files there.
            let mode = u32::from(stat.stx_mode) & 0o7777 | 0o700;
            let attr = Attr { mode, uid: stat.stx_uid, gid: stat.stx_gid, mtime };
            set_attributes(&openat(root, folder, directory_flags(), Mode::empty())?, attr)?;
        }
        Ok(())
    }
}

/// A name is not wanted, if it is there.
pub(super) fn remove_name(root: &OwnedFd, path: &[u8]) -> Result<()> {
    match unlinkat(root, path, AtFlags::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR) | Ok(()) => Ok(()),
        failed => failed,
    }
}

/// All names of these files.
pub(super) fn names_by_inode(
    tree: &VolumeTree,
    wanted: &BTreeSet<u64>,
) -> BTreeMap<u64, BTreeSet<Vec<u8>>> {
    let mut names = BTreeMap::<u64, BTreeSet<Vec<u8>>>::new();
    let mut folders = if wanted.is_empty() { Vec::new() } else { vec![(ROOT, Vec::new())] };
    while let Some((folder, path)) = folders.pop() {
        let Some(folder) = tree.file(folder) else { continue };
        for (name, ino) in &folder.names {
            let path = join_path(&path, name.as_bytes());
            match tree.file(*ino).map(|file| &file.kind) {
                Some(Kind::Folder) => folders.push((*ino, path)),
                Some(_) if wanted.contains(ino) => {
                    names.entry(*ino).or_default().insert(path);
                }
                _ => {}
            }
        }
    }
    names
}
