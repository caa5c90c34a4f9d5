//! A local tree of which a power failure may have taken parts. What the bucket has wins. What was
//! made durable here and is newer counts, under the name that it has here. Everything else that
//! the bucket has not is kept beside the tree, for people: nobody knows whether it is whole.

mod judge;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::super::local::Synced;
use super::super::placeholder::is_away;
use super::super::scan::{Lent, Scan, Stamp, into};
use super::super::tree::{Tree, joined};
use forebay_os::files::{FileIdentity, stat_of};
use judge::Verdict;
use place::{names_of, remove};

type Result<T> = std::result::Result<T, Errno>;

/// Names in a message; of more the number is told.
const TOLD: usize = 3;

/// Files that are kept beside the tree.
#[derive(Debug, Default)]
pub(super) struct Kept {
    names: Vec<Vec<u8>>,
    count: usize,
}

/// The old tree, what is known of it, and what the bucket has.
pub(super) struct Salvage<'a> {
    pub(super) old: &'a OwnedFd,
    /// Which of the bucket's files is which there, and in which state it has them.
    pub(super) known: &'a Scan,
    pub(super) tree: &'a Tree,
    /// The last cut is in the segment before this one.
    pub(super) cut: u64,
    /// Where files go that are kept for people.
    pub(super) beside: &'a OwnedFd,
}

/// A file that counts: which of the bucket's it is, its name here, and whether it has that still.
struct Found {
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
    pub(super) fn save(&self, new: &OwnedFd, made: &mut Scan) -> Result<Kept> {
        let (mut found, mut kept) = (Vec::new(), Kept::default());
        let root = openat(self.old, c".", into_flags(), Mode::empty())?;
        self.folder(&root, b"", &mut found, &mut kept)?;
        self.adopt(found, new, made)?;
        Ok(kept)
    }

    fn folder(
        &self,
        fd: &OwnedFd,
        path: &[u8],
        found: &mut Vec<Found>,
        kept: &mut Kept,
    ) -> Result<()> {
        for entry in Dir::read_from(fd)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path = joined(path, name.to_bytes());
            let verdict = match entry.file_type() {
                FileType::Directory => {
                    let (inner, _lent) = into(fd, name)?;
                    self.folder(&inner, &path, found, kept)?;
                    Verdict::Drop
                }
                FileType::RegularFile => self.file(fd, name, &path, found)?,
                FileType::Symlink if self.tree.at(&path).is_none() => Verdict::Keep,
                _ => Verdict::Drop,
            };
            if verdict == Verdict::Keep {
                self.link(&path, self.beside, &path)?;
                kept.note(path);
            }
        }
        Ok(())
    }

    fn file(
        &self,
        folder: &OwnedFd,
        name: &CStr,
        path: &[u8],
        found: &mut Vec<Found>,
    ) -> Result<Verdict> {
        let _lent = Lent::of(folder, name);
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // What this user may not read was not made by this user.
        let Ok(file) = openat(folder, name, how, Mode::empty()) else { return Ok(Verdict::Keep) };
        if is_away(&file) {
            return Ok(Verdict::Drop);
        }
        let identity = FileIdentity::of(&stat_of(file.as_fd(), c"")?);
        let stamp = Stamp::of(file.as_fd())?;
        let ino = self.known.number(&identity);
        let synced = Synced::of(&file);
        let verdict = self.judge(path, ino, &stamp, synced.as_ref());
        if verdict == Verdict::Adopt {
            let ino = ino.filter(|ino| self.tree.file(*ino).is_some());
            let has_name = synced.is_some_and(|synced| synced.segment >= self.cut);
            found.push(Found { ino, path: path.to_vec(), has_name, identity });
        }
        Ok(verdict)
    }

    /// Files that count take the places of those that the bucket has.
    fn adopt(&self, found: Vec<Found>, new: &OwnedFd, made: &mut Scan) -> Result<()> {
        let mut wanted = BTreeMap::<u64, BTreeSet<Vec<u8>>>::new();
        let known: BTreeSet<u64> = found.iter().filter_map(|one| one.ino).collect();
        let names = names_of(self.tree, &known);
        for Found { ino, path, has_name, identity } in found {
            let Some(ino) = ino else {
                self.put(&path, new, &path)?;
                continue;
            };
            made.replaces(identity, ino);
            let here = wanted.entry(ino).or_default();
            if has_name {
                here.insert(path.clone());
            } else {
                // It got its names, or others, in the bucket since.
                here.extend(names.get(&ino).into_iter().flatten().cloned());
            }
            for name in here.iter() {
                self.put(&path, new, name)?;
            }
        }
        for (ino, names) in names {
            for name in names.iter().filter(|name| !wanted[&ino].contains(*name)) {
                remove(new, name)?;
            }
        }
        Ok(())
    }
}

fn into_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

impl Kept {
    fn note(&mut self, path: Vec<u8>) {
        self.count += 1;
        if self.names.len() < TOLD {
            self.names.push(path);
        }
    }

    /// For people, who find them in this directory.
    pub(super) fn told(&self, beside: &Path) -> Option<(usize, String, PathBuf)> {
        let names = self.names.iter().map(|name| String::from_utf8_lossy(name));
        let names = names.collect::<Vec<_>>().join(", ");
        (self.count > 0).then(|| (self.count, names, beside.to_owned()))
    }
}
