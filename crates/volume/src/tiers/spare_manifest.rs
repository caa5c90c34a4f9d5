//! The spare of a volume's book, in the state directory of whoever has it: it says on which tiers files
//! of a directory lie when somebody has removed the book itself. It is called after the directory's
//! identity, so no other directory has it, and a new name does not matter.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::process::geteuid;

use super::manifest_format::{self, ManifestEntry};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::DirKey;

/// A longer one is none.
const MOST: u64 = 1 << 20;

/// Where the spare of one directory is, or would be.
#[derive(Debug)]
pub(super) struct SpareManifest {
    shelf: PathBuf,
    name: CString,
    /// The file system keeps no time of birth, so another directory may have had the same number.
    is_vague: bool,
}

impl SpareManifest {
    /// The spare of the directory behind `root` in a folder of spares.
    pub(super) fn for_directory(shelf: &Path, root: BorrowedFd<'_>) -> Option<SpareManifest> {
        let key = DirKey::from_statx(&statx_nofollow(root, c"").ok()?);
        let name = CString::new(format!("{:x}-{:x}.json", key.inode, key.born)).ok()?;
        Some(SpareManifest { shelf: shelf.to_owned(), name, is_vague: key.born == 0 })
    }

    /// The folder, if nobody else may change what is in it: it may have been made by anybody, where
    /// the state directory is one in /tmp.
    fn open_folder(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let shelf = openat(CWD, &self.shelf, flags, Mode::empty())?;
        let stat = fstat(&shelf)?;
        let shared = Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH);
        match stat.st_uid == geteuid().as_raw() && !shared {
            true => Ok(shelf),
            false => Err(io::Error::other("its folder is not this user's alone")),
        }
    }

    /// What it says of `directory`.
    pub(super) fn read_entries(&self, directory: &Path) -> Option<Vec<ManifestEntry>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(self.open_folder().ok()?, &self.name, flags, Mode::empty()).ok()?;
        let stat = fstat(&file).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || stat.st_uid != geteuid().as_raw() {
            return None;
        }
        let mut text = Vec::new();
        File::from(file).take(MOST).read_to_end(&mut text).ok()?;
        let (entries, book) = manifest_format::parse_spare(&text)?;
        let same = book.as_deref().and_then(Path::parent).and_then(Path::parent) == Some(directory);
        if self.is_vague && !same {
            return None;
        }
        // Another user's state directory, or another machine's, may have missed the end of a room.
        let may_be = |entry: &ManifestEntry| {
            let tier = entry.path.parent().and_then(Path::parent);
            entry.path.exists() || tier.is_some_and(|tier| !tier.exists())
        };
        let entries: Vec<_> = entries.into_iter().filter(may_be).collect();
        (!entries.is_empty()).then_some(entries)
    }

    /// Writes it. `book` is what it is the spare of.
    pub(super) fn write_entries(&self, entries: Vec<ManifestEntry>, book: &Path) {
        let text = manifest_format::spare_text(entries, book);
        let fresh = [self.name.to_bytes(), b".new"].concat();
        let write = || -> io::Result<()> {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.shelf)?;
            let shelf = self.open_folder()?;
            let _ = unlinkat(&shelf, fresh.as_slice(), AtFlags::empty());
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let out = openat(&shelf, fresh.as_slice(), flags, Mode::RUSR | Mode::WUSR)?;
            let mut out = File::from(out);
            let done = out.write_all(&text).and_then(|()| out.sync_all());
            let done =
                done.and_then(|()| Ok(renameat(&shelf, fresh.as_slice(), &shelf, &self.name)?));
            if done.is_err() {
                let _ = unlinkat(&shelf, fresh.as_slice(), AtFlags::empty());
            }
            done
        };
        if let Err(error) = write() {
            tracing::debug!("{} has no spare: {error}", book.display());
        }
    }

    /// Nothing is left on tiers.
    pub(super) fn remove(&self) {
        if let Ok(shelf) = self.open_folder() {
            let _ = unlinkat(&shelf, &self.name, AtFlags::empty());
            // It holds others' as a rule.
            let _ = fs::remove_dir(&self.shelf);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_model::TierId;
    use std::os::fd::AsFd;
    use std::os::unix::fs::PermissionsExt;

    /// If this fails, somebody else says where files of this user are.
    #[test]
    fn a_spare_is_read_and_written_where_nobody_else_may() {
        let all = tempfile::tempdir().expect("made");
        let (shelf, room) = (all.path().join("state/volumes"), all.path().join("t/mine/room"));
        fs::create_dir_all(&room).expect("made");
        let root = File::open(all.path()).expect("there");
        let spare = SpareManifest::for_directory(&shelf, root.as_fd()).expect("it has an identity");
        let entries = vec![ManifestEntry {
            tier: TierId("far".to_owned()),
            path: room.clone(),
            folder: None,
        }];
        let book = all.path().join(".forebay/volume.json");
        assert_eq!(spare.read_entries(all.path()), None);
        spare.write_entries(entries.clone(), &book);
        assert_eq!(spare.read_entries(all.path()), Some(entries.clone()));
        let mode = |mode| fs::set_permissions(&shelf, fs::Permissions::from_mode(mode));
        mode(0o777).expect("set");
        assert_eq!(spare.read_entries(all.path()), None, "others could have written it");
        mode(0o700).expect("set");
        let moved = all.path().join("elsewhere");
        fs::rename(&shelf, &moved).expect("moved");
        std::os::unix::fs::symlink(&moved, &shelf).expect("linked");
        assert_eq!(spare.read_entries(all.path()), None, "a link leads anywhere");
        fs::remove_file(&shelf).and_then(|()| fs::rename(&moved, &shelf)).expect("moved");
        assert_eq!(spare.read_entries(all.path()), Some(entries));
        fs::remove_dir(&room).expect("removed");
        assert_eq!(spare.read_entries(all.path()), None, "the room has ended without it");
        spare.remove();
        assert!(!shelf.exists());
    }
}
