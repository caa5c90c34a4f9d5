//! Looking at names, and telling the bucket's tree what is another.

mod content_scan;
mod layout;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, FileType, Mode, Statx, openat};
use rustix::io::Errno;

use super::super::extended;
use super::super::tree::{VolumeFile, VolumeTree, join_path};
use super::super::tree_record::{Attr, Kind, TreeRecord};
use super::read_permission::{LentReadPermission, open_directory_at};
use super::scan_result::{FileStamp, ScanResult, UnreadableFile, stamp_from_statx};
use super::stat::{attr_from_statx, read_file_kind, statx_at};
use super::{INTO, Result, TreeScanner};
use forebay_os::file_identity::FileIdentity;

/// One look, at a name or at everything.
pub(super) struct DirectoryScan<'a> {
    pub(super) scan: &'a mut TreeScanner,
    pub(super) tree: &'a mut VolumeTree,
    pub(super) found: &'a mut ScanResult,
    pub(super) is_busy: &'a dyn Fn(&FileIdentity) -> bool,
    /// Into folders that are known, too.
    pub(super) deep: bool,
    /// What is looked at has another name than before, or is in a folder that has.
    pub(super) has_moved: bool,
    /// The file that is looked at can't be opened later.
    pub(super) is_lent: bool,
}

/// A name, and what is known of its file.
struct ScannedEntry<'a> {
    /// The folder that has the name, and where it led.
    folder: u64,
    fd: &'a OwnedFd,
    name: &'a CStr,
    before: Option<u64>,
    ino: u64,
    /// It has a name in the bucket.
    is_known: bool,
    identity: FileIdentity,
    kind: Kind,
    /// Its bytes may be changing.
    is_busy: bool,
    stat: Statx,
    path: Vec<u8>,
}

impl DirectoryScan<'_> {
    /// Opens a folder by its path; what was lent for that is needed as long as it is looked at.
    pub(super) fn open_directory(&self, path: &[u8]) -> Result<(OwnedFd, Vec<LentReadPermission>)> {
        let mut lent = Vec::new();
        let mut folder = openat(&self.scan.root, c".", INTO, Mode::empty())?;
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            let (inner, more) = open_directory_at(&folder, part)?;
            lent.extend(more);
            folder = inner;
        }
        Ok((folder, lent))
    }

    fn append_record(&mut self, record: &TreeRecord<'_>) {
        self.tree.apply_record(record);
        self.found.draft.append_record(record);
    }

    /// A file is like this.
    pub(super) fn record_attributes(&mut self, ino: u64, attr: Attr, kind: &Kind) {
        let is_same = |file: &VolumeFile| (&file.kind, file.attr) == (kind, attr);
        if !self.tree.file(ino).is_some_and(is_same) {
            self.append_record(&TreeRecord::File { ino, kind: kind.clone(), attr });
        }
    }

    /// Looks at the extended attributes of a file or folder.
    ///
    /// # Errors
    /// Those of the file system.
    fn record_xattr_changes(
        &mut self,
        ino: u64,
        fd: &OwnedFd,
        name: &CStr,
        stat: &Statx,
    ) -> Result<()> {
        let (stamp, known) = (stamp_from_statx(stat), self.scan.stamps.get(&ino));
        let is_folder = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Directory;
        let is_file = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::RegularFile;
        if !is_folder && (!is_file || known == Some(&stamp)) {
            return Ok(());
        }
        let now = extended::read_xattrs(fd.as_fd(), name)?;
        let before = self.tree.file(ino).map(|file| file.extended.clone()).unwrap_or_default();
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            self.append_record(&TreeRecord::Extended { ino, name, value: None });
        }
        for (name, value) in now.iter().filter(|(name, value)| before.get(*name) != Some(*value)) {
            self.append_record(&TreeRecord::Extended { ino, name, value: Some(value) });
        }
        Ok(())
    }

    /// All names of a folder, those that are gone too.
    pub(super) fn scan_directory(&mut self, (ino, fd): (u64, &OwnedFd), path: &[u8]) -> Result<()> {
        let mut names: Vec<CString> = Vec::new();
        for entry in Dir::read_from(fd)? {
            let name = entry?.file_name().to_owned();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name);
            }
        }
        let known = self.tree.file(ino).into_iter().flat_map(|file| file.names.keys());
        names.extend(known.filter_map(|name| CString::new(name.as_bytes()).ok()));
        // In one order, so that one state gives one log; and none twice.
        names.sort();
        names.dedup();
        names.iter().try_for_each(|name| self.scan_entry((ino, fd), path, name))
    }

    pub(super) fn scan_entry(
        &mut self,
        (folder, fd): (u64, &OwnedFd),
        path: &[u8],
        name: &CStr,
    ) -> Result<()> {
        let before = self.tree.lookup_name(folder, name.to_bytes());
        let stat = match statx_at(fd, name) {
            Err(Errno::NOENT) => {
                if before.is_some() {
                    self.append_record(&TreeRecord::Gone { folder, name: name.to_bytes() });
                }
                return Ok(());
            }
            stat => stat?,
        };
        let identity = FileIdentity::from_statx(&stat);
        let known = self.scan.numbers.get(&identity).copied();
        let known = known.filter(|ino| self.tree.file(*ino).is_some());
        let kind = read_file_kind(fd, name, &stat)?;
        let is_busy = kind == Kind::Plain && (self.is_busy)(&identity);
        if is_busy && known.is_none() {
            // It gets its name with its bytes, when it is closed.
            return Ok(());
        }
        let ino = known.unwrap_or(self.tree.next);
        if known.is_none() {
            self.scan.record_inode_number(identity, ino);
        }
        let path = join_path(path, name.to_bytes());
        let is_known = known.is_some();
        let one = ScannedEntry {
            folder,
            fd,
            name,
            before,
            ino,
            is_known,
            identity,
            kind,
            is_busy,
            stat,
            path,
        };
        let (deep, has_moved) = (self.deep, self.has_moved);
        self.has_moved |= before != Some(ino);
        let done = self.scan_with_lent_access(&one);
        (self.deep, self.has_moved) = (deep, has_moved);
        match done {
            Err(Errno::ACCESS | Errno::PERM) => self.note_unreadable(&one),
            done => done?,
        }
        Ok(())
    }

    /// Looks at a file that may have to be lent a permission for that.
    fn scan_with_lent_access(&mut self, one: &ScannedEntry<'_>) -> Result<()> {
        let known = self.scan.stamps.get(&one.ino) == Some(&stamp_from_statx(&one.stat));
        let lent = match known || one.is_busy {
            true => None,
            false => LentReadPermission::grant_read_access(one.fd, one.name),
        };
        let (was_lent, large) = (self.is_lent, self.found.large.len());
        self.is_lent = lent.is_some();
        let done = self.record_entry_changes(one);
        self.is_lent = was_lent;
        if let Some(lent) = lent {
            drop(lent);
            // Lending changes a time by which files are told from what they were.
            let (before, now) =
                (stamp_from_statx(&one.stat), stamp_from_statx(&statx_at(one.fd, one.name)?));
            if self.scan.stamps.get(&one.ino) == Some(&before) {
                self.scan.record_stamp(one.ino, now);
            }
            let found = self.found.large.iter_mut().skip(large);
            found.filter(|large| large.ino == one.ino).for_each(|large| large.stamp = now);
        }
        done
    }

    /// It can't be read: the bucket keeps what it has of it, and it is told.
    fn note_unreadable(&mut self, one: &ScannedEntry<'_>) {
        let unread = UnreadableFile { path: one.path.clone(), identity: one.identity };
        self.found.unread.push(unread);
    }

    /// Tells of a file and its name what is another.
    ///
    /// # Errors
    /// Those of the file system.
    fn record_entry_changes(&mut self, one: &ScannedEntry<'_>) -> Result<()> {
        let ScannedEntry { folder, fd, name, before, ino, ref kind, ref stat, .. } = *one;
        if !one.is_busy {
            let mut attr = attr_from_statx(stat);
            if *kind == Kind::Plain && self.is_evicted(ino, fd, name, attr.mtime) {
                // Bytes that come change the time here, and not the file's.
                attr.mtime = self.tree.file(ino).map_or(attr.mtime, |file| file.attr.mtime);
            }
            self.record_attributes(ino, attr, kind);
            self.record_xattr_changes(ino, fd, name, stat)?;
            if *kind == Kind::Plain
                && let Err(error) = self.scan_file_content(one)
            {
                // With what the bucket has of it, if there is any.
                if one.is_known && before != Some(ino) {
                    self.append_record(&TreeRecord::Name { folder, name: name.to_bytes(), ino });
                }
                return Err(error);
            }
        } else if !self.is_layout_current(one) {
            // When it is closed.
            self.scan.record_stamp(ino, FileStamp::NEVER);
        }
        if before != Some(ino) {
            self.append_record(&TreeRecord::Name { folder, name: name.to_bytes(), ino });
        }
        // What was noted of a folder that has moved was noted of its old path.
        if *kind == Kind::Folder && (before != Some(ino) || self.deep) {
            let inner = openat(fd, name, INTO, Mode::empty())?;
            self.deep = true;
            self.scan_directory((ino, &inner), &one.path)?;
        }
        Ok(())
    }
}
