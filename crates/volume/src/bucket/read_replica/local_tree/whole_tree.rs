//! All of a reader's local tree at once: made of a tree that is new, and taken away.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::Dir;
use rustix::io::Errno;

use super::super::super::tree::{ROOT, VolumeTree};
use super::super::super::tree_record::Kind;
use super::super::touched::TouchedEntries;
use super::{Changes, EvictedFileCallback, LocalTree, Result, make_owner_writable};
use forebay_os::file_identity::proc_fd_path;
use forebay_os::short_name::ShortName;

/// Names of a tree that is new are made so many at a time.
const AT_ONCE: usize = 4096;

impl LocalTree {
    /// Makes all of a volume's tree, folders before what is in them.
    ///
    /// # Errors
    /// Those of the file system: one without extended attributes can't be used.
    pub(in crate::bucket::read_replica) fn fill_whole_tree(
        &mut self,
        tree: &VolumeTree,
        learn: EvictedFileCallback<'_>,
        changes: &mut Changes,
    ) -> Result<()> {
        let mut folders = vec![ROOT];
        let mut touched = TouchedEntries::default();
        while let Some(ino) = folders.pop() {
            let Some(folder) = tree.file(ino) else { continue };
            touched.files.insert(ino, None);
            touched.names.extend(folder.names.keys().map(|name| (ino, name.clone())));
            let is_folder =
                |ino: &&u64| tree.file(**ino).is_some_and(|file| file.kind == Kind::Folder);
            folders.extend(folder.names.values().filter(is_folder));
            if touched.names.len() >= AT_ONCE || folders.is_empty() {
                self.apply_tree(tree, &touched, &mut *learn, changes)?;
                touched = TouchedEntries::default();
            }
        }
        Ok(())
    }

    /// Takes all away that is here.
    ///
    /// # Errors
    /// Those of the file system.
    pub(in crate::bucket::read_replica) fn remove_whole_tree(
        &mut self,
        changes: &mut Changes,
    ) -> Result<()> {
        let old: Vec<u64> = self.spots.keys().copied().filter(|ino| *ino != ROOT).collect();
        for ino in old {
            let path = self.path_of(ino);
            if let Some(spot) = self.spots.get(&ino) {
                let above = self.spots.get(&spot.parent).map(|above| above.identity);
                changes.names.extend(above.map(|above| (above, spot.name.clone())));
                changes.retired.push((spot.identity, spot.number, path));
            }
        }
        self.spots.retain(|ino, _| *ino == ROOT);
        for folder in [&self.tree, &self.aside] {
            make_owner_writable(folder)?;
            let entries = Dir::read_from(folder)?.collect::<Result<Vec<_>>>()?;
            for entry in entries {
                // Of `.` and `..` there is none.
                if let Some(name) = ShortName::from_file_name(entry.file_name().to_bytes()) {
                    remove_entry(folder, &name).map_err(|_| Errno::NOTEMPTY)?;
                }
            }
        }
        Ok(())
    }
}

/// Removes a directory with all that is in it, also what its owner may not change.
pub(in crate::bucket::read_replica) fn remove_recursively(path: &Path) -> io::Result<()> {
    let is_folder = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let remove = || match is_folder {
        true => std::fs::remove_dir_all(path),
        false => std::fs::remove_file(path),
    };
    let removed = match remove() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_all_writable(path)?;
            remove()
        }
        removed => removed,
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn make_all_writable(path: &Path) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_all_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// The same of a name in a folder.
pub(in crate::bucket::read_replica) fn remove_entry(
    folder: &OwnedFd,
    name: &ShortName,
) -> io::Result<()> {
    let path = proc_fd_path(folder.as_fd());
    let path = Path::new(OsStr::from_bytes(path.to_bytes())).join(OsStr::from_bytes(name));
    remove_recursively(&path)
}
