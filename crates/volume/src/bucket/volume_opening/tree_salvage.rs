//! A local tree of which a power failure may have taken parts. What the bucket has wins. What was
//! made durable here and is newer counts, under the name that it has here. Everything else that
//! the bucket has not is kept beside the tree, for people: nobody knows whether it is whole.

mod file_verdict;
mod salvaged_names;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::super::placeholder::is_evicted;
use super::super::placeholder_tree::SyncMark;
use super::super::scan::{FileStamp, LentReadPermission, TreeScanner, open_directory_at};
use super::super::tree::{VolumeTree, join_path};
use file_verdict::Verdict;
use forebay_os::file_identity::{FileIdentity, statx_nofollow};
use salvaged_names::{names_by_inode, remove_name};

type Result<T> = std::result::Result<T, Errno>;

/// Names in a message; of more the number is told.
const TOLD: usize = 3;

/// Files that are kept beside the tree.
#[derive(Debug, Default)]
pub(super) struct SalvagedFiles {
    names: Vec<Vec<u8>>,
    count: usize,
}

/// The old tree, what is known of it, and what the bucket has.
pub(super) struct Salvage<'a> {
    pub(super) old: &'a OwnedFd,
    /// Which of the bucket's files is which there, and in which state it has them.
    pub(super) known: &'a TreeScanner,
    pub(super) tree: &'a VolumeTree,
    /// The last cut is in the segment before this one.
    pub(super) cut: u64,
    /// Where files go that are kept for people.
    pub(super) beside: &'a OwnedFd,
}

/// A file that counts: which of the bucket's it is, its name here, and whether it has that still.
struct AdoptedFile {
    ino: Option<u64>,
    path: Vec<u8>,
    has_name: bool,
    identity: FileIdentity,
}

impl Salvage<'_> {
    /// Puts what counts of the old tree into the new one, which is as the bucket's, and what is to
    /// be kept beside it. The old tree stays as it is.
    ///
    /// # Errors
    /// Those of the file system: not all of the old tree is in one of both.
    pub(super) fn merge_into(
        &self,
        new: &OwnedFd,
        made: &mut TreeScanner,
    ) -> Result<SalvagedFiles> {
        let (mut found, mut kept) = (Vec::new(), SalvagedFiles::default());
        let root = openat(self.old, c".", directory_flags(), Mode::empty())?;
        self.visit_directory(&root, b"", &mut found, &mut kept)?;
        self.adopt_files(found, new, made)?;
        Ok(kept)
    }

    fn visit_directory(
        &self,
        fd: &OwnedFd,
        path: &[u8],
        found: &mut Vec<AdoptedFile>,
        kept: &mut SalvagedFiles,
    ) -> Result<()> {
        for entry in Dir::read_from(fd)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path = join_path(path, name.to_bytes());
            let verdict = match entry.file_type() {
                FileType::Directory => {
                    let (inner, _lent) = open_directory_at(fd, name)?;
                    self.visit_directory(&inner, &path, found, kept)?;
                    Verdict::Drop
                }
                FileType::RegularFile => self.visit_file(fd, name, &path, found)?,
                FileType::Symlink if self.tree.lookup_path(&path).is_none() => Verdict::Keep,
                _ => Verdict::Drop,
            };
            if verdict == Verdict::Keep {
                self.link_name(&path, self.beside, &path)?;
                kept.note_path(path);
            }
        }
        Ok(())
    }

    fn visit_file(
        &self,
        folder: &OwnedFd,
        name: &CStr,
        path: &[u8],
        found: &mut Vec<AdoptedFile>,
    ) -> Result<Verdict> {
        let _lent = LentReadPermission::grant_read_access(folder, name);
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // What this user may not read was not made by this user.
        let Ok(file) = openat(folder, name, how, Mode::empty()) else { return Ok(Verdict::Keep) };
        if is_evicted(&file) {
            return Ok(Verdict::Drop);
        }
        let identity = FileIdentity::from_statx(&statx_nofollow(file.as_fd(), c"")?);
        let stamp = FileStamp::from_file(file.as_fd())?;
        let ino = self.known.inode_number(&identity);
        let synced = SyncMark::read_mark(&file);
        let verdict = self.decide_verdict(path, ino, &stamp, synced.as_ref());
        if verdict == Verdict::Adopt {
            let ino = ino.filter(|ino| self.tree.file(*ino).is_some());
            let has_name = synced.is_some_and(|synced| synced.segment >= self.cut);
            found.push(AdoptedFile { ino, path: path.to_vec(), has_name, identity });
        }
        Ok(verdict)
    }

    /// Files that count take the places of those that the bucket has.
    fn adopt_files(
        &self,
        found: Vec<AdoptedFile>,
        new: &OwnedFd,
        made: &mut TreeScanner,
    ) -> Result<()> {
        let mut wanted = BTreeMap::<u64, BTreeSet<Vec<u8>>>::new();
        let known: BTreeSet<u64> = found.iter().filter_map(|one| one.ino).collect();
        let names = names_by_inode(self.tree, &known);
        for AdoptedFile { ino, path, has_name, identity } in found {
            let Some(ino) = ino else {
                self.replace_name(&path, new, &path)?;
                continue;
            };
            made.replace_file(identity, ino);
            let here = wanted.entry(ino).or_default();
            if has_name {
                here.insert(path.clone());
            } else {
                // It got its names, or others, in the bucket since.
                here.extend(names.get(&ino).into_iter().flatten().cloned());
            }
            for name in here.iter() {
                self.replace_name(&path, new, name)?;
            }
        }
        for (ino, names) in names {
            for name in names.iter().filter(|name| !wanted[&ino].contains(*name)) {
                remove_name(new, name)?;
            }
        }
        Ok(())
    }
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

impl SalvagedFiles {
    fn note_path(&mut self, path: Vec<u8>) {
        self.count += 1;
        if self.names.len() < TOLD {
            self.names.push(path);
        }
    }

    /// For people, who find them in this directory.
    pub(super) fn to_summary(&self, beside: &Path) -> Option<(usize, String, PathBuf)> {
        let names = self.names.iter().map(|name| String::from_utf8_lossy(name));
        let names = names.collect::<Vec<_>>().join(", ");
        (self.count > 0).then(|| (self.count, names, beside.to_owned()))
    }
}
