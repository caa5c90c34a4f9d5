//! What of a local tree differs from what the bucket knows of it, as records. It looks at names that
//! somebody has said may have changed, or at all of them: after a kill nobody can say.

mod directory_scan;
mod read_permission;
mod scan_result;
mod stat;

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use forebay_model::BucketRules;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::tree::{ROOT, VolumeTree};
use super::tree_record::Kind;
use directory_scan::DirectoryScan;
use forebay_os::file_identity::FileIdentity;
pub(crate) use read_permission::{LentReadPermission, open_directory_at};
#[cfg(test)]
pub(crate) use scan_result::LARGEST;
use scan_result::stamp_from_statx;
pub(crate) use scan_result::{FileStamp, PendingFile, ScanResult, ScanUpdates, UnreadableFile};
use stat::{attr_from_statx, statx_at};

type Result<T> = std::result::Result<T, Errno>;

const INTO: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A local tree, and which of its files the bucket knows by which number.
#[derive(Debug)]
pub(crate) struct TreeScanner {
    root: OwnedFd,
    numbers: FxHashMap<FileIdentity, u64>,
    stamps: FxHashMap<u64, FileStamp>,
    /// Files that somebody may have written since their bytes were stored; `None`: any.
    written: Option<FxHashSet<FileIdentity>>,
    learnt: ScanUpdates,
    rules: Arc<BucketRules>,
}

impl TreeScanner {
    /// Of a tree of which nothing is known yet.
    pub(crate) fn new(root: OwnedFd) -> Result<TreeScanner> {
        let identity = FileIdentity::from_statx(&statx_at(&root, c"")?);
        let numbers = FxHashMap::from_iter([(identity, ROOT)]);
        Ok(TreeScanner {
            root,
            numbers,
            stamps: FxHashMap::default(),
            written: None,
            learnt: ScanUpdates::default(),
            rules: Arc::new(BucketRules::none()),
        })
    }

    /// What earlier scans have learnt.
    pub(crate) fn restore_learnt(&mut self, learnt: &ScanUpdates) {
        let device = self.numbers.iter().find(|(_, ino)| **ino == ROOT).map(|(id, _)| id.device);
        let Some(device) = device else { return };
        for (ino, (inode, born)) in &learnt.numbers {
            self.numbers.insert(FileIdentity { device, inode: *inode, born: *born }, *ino);
        }
        self.stamps.extend(learnt.stamps.iter().copied());
    }

    /// How files are to lie in the bucket from now on.
    pub(crate) fn set_layout_rules(&mut self, rules: Arc<BucketRules>) {
        self.rules = rules;
    }

    /// These files may have been written. From the first cut of everything on, others have not.
    pub(crate) fn mark_written(&mut self, files: impl IntoIterator<Item = FileIdentity>) {
        if let Some(written) = &mut self.written {
            written.extend(files);
        }
    }

    /// Whether the bucket has this state of a file, which nobody has written since.
    pub(crate) fn is_clean_as(&self, identity: &FileIdentity, ino: u64, stamp: &FileStamp) -> bool {
        let is_written = self.written.as_ref().is_none_or(|all| all.contains(identity));
        !is_written && self.stamps.get(&ino) == Some(stamp)
    }

    /// Whether the bucket has this state of a file, as far as its times tell.
    pub(crate) fn is_stored_as(&self, ino: u64, stamp: &FileStamp) -> bool {
        self.stamps.get(&ino) == Some(stamp)
    }

    /// Whether a file changed after the bucket got its bytes; `None`: nobody knows when that was.
    pub(crate) fn is_newer_than_stored(&self, ino: u64, stamp: &FileStamp) -> Option<bool> {
        self.stamps.get(&ino).map(|stored| stamp.is_later_than(stored))
    }

    /// This file has taken the place of that one: its bytes are to be looked at.
    pub(crate) fn replace_file(&mut self, identity: FileIdentity, ino: u64) {
        self.record_inode_number(identity, ino);
        self.record_stamp(ino, FileStamp::NEVER);
    }

    /// Which of the bucket's files this is.
    pub(crate) fn inode_number(&self, identity: &FileIdentity) -> Option<u64> {
        self.numbers.get(identity).copied()
    }

    /// What was learnt since this was asked last.
    pub(crate) fn take_learnt(&mut self) -> ScanUpdates {
        std::mem::take(&mut self.learnt)
    }

    /// Looks at a name in the folder at `path`. Records go into `found`, which becomes a segment, and
    /// into `tree`. `is_busy` tells that bytes may be changing: they count as they
    /// were.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn scan_entry(
        &mut self,
        (tree, found): (&mut VolumeTree, &mut ScanResult),
        path: &[u8],
        name: &CStr,
        is_busy: &dyn Fn(&FileIdentity) -> bool,
    ) -> Result<()> {
        let mut turn = DirectoryScan {
            scan: self,
            tree,
            found,
            is_busy,
            deep: false,
            has_moved: false,
            is_lent: false,
        };
        let (folder, lent) = match turn.open_directory(path) {
            // Gone since, with all names in it; or new, and looked into when its own name is.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            folder => folder?,
        };
        let stat = statx_at(&folder, c"")?;
        let known = turn.scan.numbers.get(&FileIdentity::from_statx(&stat)).copied();
        let Some(ino) = known.filter(|ino| turn.tree.file(*ino).is_some()) else { return Ok(()) };
        turn.scan_entry((ino, &folder), path, name)?;
        drop(lent);
        // What is in it changes its time.
        turn.record_attributes(ino, attr_from_statx(&statx_at(&folder, c"")?), &Kind::Folder);
        Ok(())
    }

    /// Looks at everything.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn scan_tree(
        &mut self,
        (tree, found): (&mut VolumeTree, &mut ScanResult),
        is_busy: &dyn Fn(&FileIdentity) -> bool,
    ) -> Result<()> {
        let mut turn = DirectoryScan {
            scan: self,
            tree,
            found,
            is_busy,
            deep: true,
            has_moved: false,
            is_lent: false,
        };
        let (root, _) = turn.open_directory(b"")?;
        turn.scan_directory((ROOT, &root), b"")?;
        turn.record_attributes(ROOT, attr_from_statx(&statx_at(&root, c"")?), &Kind::Folder);
        self.written.get_or_insert_default();
        Ok(())
    }

    /// This name is of that file, and nothing of it differs from what the bucket knows.
    ///
    /// # Errors
    /// Those of the file system.
    pub(crate) fn adopt_unchanged(
        &mut self,
        folder: &OwnedFd,
        name: &CStr,
        ino: u64,
    ) -> Result<()> {
        let stat = statx_at(folder, name)?;
        self.record_inode_number(FileIdentity::from_statx(&stat), ino);
        self.record_stamp(ino, stamp_from_statx(&stat));
        Ok(())
    }

    /// The same of one that was to be read later.
    pub(crate) fn mark_stored(&mut self, large: &PendingFile) {
        self.record_stamp(large.ino, large.stamp);
        self.mark_clean(&large.identity);
    }

    fn mark_clean(&mut self, identity: &FileIdentity) {
        if let Some(written) = &mut self.written {
            written.remove(identity);
        }
    }

    /// The bytes of a file are in the bucket as they are in this state of it.
    pub(crate) fn record_stamp(&mut self, ino: u64, stamp: FileStamp) {
        self.stamps.insert(ino, stamp);
        self.learnt.stamps.push((ino, stamp));
    }

    fn record_inode_number(&mut self, identity: FileIdentity, ino: u64) {
        self.numbers.insert(identity, ino);
        self.learnt.numbers.push((ino, (identity.inode, identity.born)));
    }
}

#[cfg(test)]
mod tests;
