//! The state of a pack in memory: what all records of its log, one after the other, come to (see
//! `apply`). It touches no disk.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::name::PackedName;
use super::record::{Attr, DirKey};
use forebay_os::numbered::SparseArray;
use forebay_os::short_name::ShortName;

/// Inode numbers of packed files begin here, far above those of file systems.
pub const FIRST: u64 = 1 << 60;

/// Where the bytes of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentLocation {
    /// There are none.
    Empty,
    /// In the log, from this position on, with their checksum.
    Log { at: u64, size: u32, crc: u32 },
    /// In this working file, for good.
    Body { work: u64 },
}

/// A packed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inode {
    pub(super) attr: Attr,
    pub(super) links: u32,
    pub(super) bytes: ContentLocation,
    /// Bytes newer than those are in this working file.
    pub(super) work: Option<u64>,
}

/// A directory in place that has packed files.
#[derive(Debug, Clone)]
pub(super) struct Dir {
    pub(super) key: DirKey,
    /// Where it was when its first file was packed.
    pub(super) path: Vec<u8>,
    pub(super) names: BTreeMap<ShortName, PackedName>,
}

/// All that is packed.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) dirs: Vec<Dir>,
    pub(super) by_key: FxHashMap<DirKey, u32>,
    pub(super) inodes: SparseArray<Inode>,
    /// The machine's life in which the newest run began.
    pub(super) boot: [u8; 16],
    pub(super) newest: u64,
    pub(super) newest_work: u64,
    /// Bytes of the log that still count.
    pub(super) live: u64,
    /// Bytes of bodies.
    pub(super) bodies: u64,
}

/// What an inode and its names take in a rewritten log, about.
pub(super) const INODE_COST: u64 = 160;

impl Index {
    pub(super) fn find_directory(&self, key: DirKey) -> Option<(u32, &Dir)> {
        let number = *self.by_key.get(&key)?;
        Some((number, &self.dirs[number as usize]))
    }

    pub(super) fn find_name(&self, key: DirKey, name: &[u8]) -> Option<&PackedName> {
        self.find_directory(key)?.1.names.get(name)
    }

    /// An empty one that gives out numbers where another stopped.
    pub(super) fn continuing_from(other: &Index) -> Index {
        Index { newest: other.newest, newest_work: other.newest_work, ..Index::default() }
    }

    /// A number that no file has had.
    pub(super) fn next_inode_number(&self) -> u64 {
        self.newest.max(FIRST - 1).saturating_add(1)
    }

    /// The first number for working files that no log names.
    pub(super) fn next_working_file_number(&self) -> u64 {
        self.newest_work.saturating_add(1)
    }

    /// Lets go of a file that has no name.
    pub(super) fn forget_inode(&mut self, ino: u64) -> Option<Inode> {
        let inode = self.inodes.remove(ino)?;
        self.live = self.live.saturating_sub(INODE_COST + bytes_in_log(&inode));
        self.bodies = self.bodies.saturating_sub(bytes_in_data_file(&inode));
        Some(inode)
    }

    pub(super) fn has_directory(&self, dir: u32) -> bool {
        (dir as usize) < self.dirs.len()
    }

    pub(super) fn name_in_directory(&self, dir: u32, name: &[u8]) -> Option<&PackedName> {
        self.dirs.get(dir as usize)?.names.get(name)
    }

    pub(super) fn data_file_number(&self, ino: u64) -> Option<u64> {
        match self.inodes.get(ino)?.bytes {
            ContentLocation::Body { work } => Some(work),
            _ => None,
        }
    }

    /// The bytes of a file are there now.
    pub(super) fn set_content(
        &mut self,
        ino: u64,
        bytes: ContentLocation,
        new: Attr,
        work: Option<u64>,
    ) -> bool {
        let Some(inode) = self.inodes.get_mut(ino) else { return false };
        self.live = self.live.saturating_sub(bytes_in_log(inode));
        self.bodies = self.bodies.saturating_sub(bytes_in_data_file(inode));
        inode.bytes = bytes;
        inode.work = work;
        let (size, mtime, ctime) = (new.size, new.mtime, new.ctime.max(inode.attr.ctime));
        inode.attr = Attr { size, mtime, ctime, ..inode.attr };
        self.live = self.live.saturating_add(bytes_in_log(inode));
        self.bodies = self.bodies.saturating_add(bytes_in_data_file(inode));
        true
    }

    /// A run begins. This comes with the record, since a log is read again within one life of the
    /// machine, too: what an earlier life left may not mean something once more then.
    pub(super) fn begin_run(&mut self, boot: [u8; 16]) {
        if self.boot != boot {
            self.drop_previous_boot_state();
        }
        self.boot = boot;
    }

    /// Another life of the machine: working files that were in use may hold anything, and files in
    /// place that packed ones were made into may be without their bytes, so those are hidden.
    pub(super) fn drop_previous_boot_state(&mut self) {
        self.inodes.values_mut().for_each(|inode| inode.work = None);
        for name in self.dirs.iter_mut().flat_map(|dir| dir.names.values_mut()) {
            if let Some(marks) = &mut name.marks {
                marks.over = marks.lands.take().or(marks.over);
            }
        }
    }

    /// Size and times of bytes that are in a working file only.
    pub(super) fn set_size_and_times(
        &mut self,
        ino: u64,
        size: u64,
        mtime: super::Time,
        ctime: super::Time,
    ) {
        if let Some(inode) = self.inodes.get_mut(ino) {
            let ctime = ctime.max(inode.attr.ctime);
            inode.attr = Attr { size, mtime, ctime, ..inode.attr };
        }
    }

    pub(super) fn update_ctime(&mut self, ino: u64, ctime: super::Time) {
        if let Some(inode) = self.inodes.get_mut(ino) {
            inode.attr.ctime = inode.attr.ctime.max(ctime);
        }
    }

    pub(super) fn add_name(&mut self, dir: u32, name: ShortName, ino: u64) {
        self.dirs[dir as usize].names.insert(name, PackedName::new(ino, None));
        if let Some(inode) = self.inodes.get_mut(ino) {
            inode.links += 1;
        }
    }

    /// Takes a name away. Its file stays in memory until nobody uses it: see
    /// [`Index::forget_inode`].
    pub(super) fn remove_name(&mut self, dir: u32, name: &[u8], ctime: super::Time) {
        let Some(gone) = self.dirs[dir as usize].names.remove(name) else { return };
        self.update_ctime(gone.ino, ctime);
        if let Some(inode) = self.inodes.get_mut(gone.ino) {
            inode.links = inode.links.saturating_sub(1);
        }
    }
}

fn bytes_in_data_file(inode: &Inode) -> u64 {
    match inode.bytes {
        ContentLocation::Body { .. } => inode.attr.size,
        _ => 0,
    }
}

fn bytes_in_log(inode: &Inode) -> u64 {
    match inode.bytes {
        ContentLocation::Log { size, .. } => u64::from(size),
        _ => 0,
    }
}
