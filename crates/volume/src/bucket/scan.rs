//! What of a local tree differs from what the bucket knows of it, as records. It looks at names that
//! somebody has said may have changed, or at all of them: after a kill nobody can say.

mod found;
mod lend;
mod stat;
mod turn;

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use forebay_model::Kept;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::record::Kind;
use super::tree::{ROOT, Tree};
use forebay_os::files::FileIdentity;
#[cfg(test)]
pub(crate) use found::LARGEST;
use found::stamp_of;
pub(crate) use found::{Found, Large, Learnt, Stamp, Unread};
pub(crate) use lend::{Lent, into};
use stat::{attr_of, look};
use turn::Turn;

type Result<T> = std::result::Result<T, Errno>;

const INTO: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A local tree, and which of its files the bucket knows by which number.
#[derive(Debug)]
pub(crate) struct Scan {
    root: OwnedFd,
    numbers: FxHashMap<FileIdentity, u64>,
    stamps: FxHashMap<u64, Stamp>,
    /// Files that somebody may have written since their bytes were stored; `None`: any.
    written: Option<FxHashSet<FileIdentity>>,
    learnt: Learnt,
    rules: Arc<Kept>,
}

impl Scan {
    /// Of a tree of which nothing is known yet.
    pub(crate) fn new(root: OwnedFd) -> Result<Scan> {
        let identity = FileIdentity::of(&look(&root, c"")?);
        let numbers = FxHashMap::from_iter([(identity, ROOT)]);
        Ok(Scan {
            root,
            numbers,
            stamps: FxHashMap::default(),
            written: None,
            learnt: Learnt::default(),
            rules: Arc::new(Kept::none()),
        })
    }

    /// What earlier scans have learnt.
    pub(crate) fn recall(&mut self, learnt: &Learnt) {
        let device = self.numbers.iter().find(|(_, ino)| **ino == ROOT).map(|(id, _)| id.device);
        let Some(device) = device else { return };
        for (ino, (inode, born)) in &learnt.numbers {
            self.numbers.insert(FileIdentity { device, inode: *inode, born: *born }, *ino);
        }
        self.stamps.extend(learnt.stamps.iter().copied());
    }

    /// How files are to lie in the bucket from now on.
    pub(crate) fn obey(&mut self, rules: Arc<Kept>) {
        self.rules = rules;
    }

    /// These files may have been written. From the first cut of everything on, others have not.
    pub(crate) fn were_written(&mut self, files: impl IntoIterator<Item = FileIdentity>) {
        if let Some(written) = &mut self.written {
            written.extend(files);
        }
    }

    /// Whether the bucket has this state of a file, which nobody has written since.
    pub(crate) fn is_clean_as(&self, identity: &FileIdentity, ino: u64, stamp: &Stamp) -> bool {
        let is_written = self.written.as_ref().is_none_or(|all| all.contains(identity));
        !is_written && self.stamps.get(&ino) == Some(stamp)
    }

    /// Whether the bucket has this state of a file, as far as its times tell.
    pub(crate) fn is_stored_as(&self, ino: u64, stamp: &Stamp) -> bool {
        self.stamps.get(&ino) == Some(stamp)
    }

    /// Whether a file changed after the bucket got its bytes; `None`: nobody knows when that was.
    pub(crate) fn is_later(&self, ino: u64, stamp: &Stamp) -> Option<bool> {
        self.stamps.get(&ino).map(|stored| stamp.is_later_than(stored))
    }

    /// This file has taken the place of that one: its bytes are to be looked at.
    pub(crate) fn replaces(&mut self, identity: FileIdentity, ino: u64) {
        self.is_number(identity, ino);
        self.is_as(ino, Stamp::NEVER);
    }

    /// Which of the bucket's files this is.
    pub(crate) fn number(&self, identity: &FileIdentity) -> Option<u64> {
        self.numbers.get(identity).copied()
    }

    /// What was learnt since this was asked last.
    pub(crate) fn learnt(&mut self) -> Learnt {
        std::mem::take(&mut self.learnt)
    }

    /// Looks at a name in the folder at `path`. Records go into `found`, which becomes a segment, and
    /// into `tree`. `is_busy` tells that bytes may be changing: they count as they
    /// were.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn name(
        &mut self,
        (tree, found): (&mut Tree, &mut Found),
        path: &[u8],
        name: &CStr,
        is_busy: &dyn Fn(&FileIdentity) -> bool,
    ) -> Result<()> {
        let mut turn = Turn {
            scan: self,
            tree,
            found,
            is_busy,
            deep: false,
            has_moved: false,
            is_lent: false,
        };
        let (folder, lent) = match turn.enter(path) {
            // Gone since, with all names in it; or new, and looked into when its own name is.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            folder => folder?,
        };
        let stat = look(&folder, c"")?;
        let known = turn.scan.numbers.get(&FileIdentity::of(&stat)).copied();
        let Some(ino) = known.filter(|ino| turn.tree.file(*ino).is_some()) else { return Ok(()) };
        turn.name((ino, &folder), path, name)?;
        drop(lent);
        // What is in it changes its time.
        turn.dress(ino, attr_of(&look(&folder, c"")?), &Kind::Folder);
        Ok(())
    }

    /// Looks at everything.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn all(
        &mut self,
        (tree, found): (&mut Tree, &mut Found),
        is_busy: &dyn Fn(&FileIdentity) -> bool,
    ) -> Result<()> {
        let mut turn =
            Turn { scan: self, tree, found, is_busy, deep: true, has_moved: false, is_lent: false };
        let (root, _) = turn.enter(b"")?;
        turn.folder((ROOT, &root), b"")?;
        turn.dress(ROOT, attr_of(&look(&root, c"")?), &Kind::Folder);
        self.written.get_or_insert_default();
        Ok(())
    }

    /// This name is of that file, and nothing of it differs from what the bucket knows.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn adopt(&mut self, folder: &OwnedFd, name: &CStr, ino: u64) -> Result<()> {
        let stat = look(folder, name)?;
        self.is_number(FileIdentity::of(&stat), ino);
        self.is_as(ino, stamp_of(&stat));
        Ok(())
    }

    /// The same of one that was to be read later.
    pub(crate) fn is_stored(&mut self, large: &Large) {
        self.is_as(large.ino, large.stamp);
        self.is_clean(&large.identity);
    }

    fn is_clean(&mut self, identity: &FileIdentity) {
        if let Some(written) = &mut self.written {
            written.remove(identity);
        }
    }

    /// The bytes of a file are in the bucket as they are in this state of it.
    pub(crate) fn is_as(&mut self, ino: u64, stamp: Stamp) {
        self.stamps.insert(ino, stamp);
        self.learnt.stamps.push((ino, stamp));
    }

    fn is_number(&mut self, identity: FileIdentity, ino: u64) {
        self.numbers.insert(identity, ino);
        self.learnt.numbers.push((ino, (identity.inode, identity.born)));
    }
}

#[cfg(test)]
mod tests;
