//! The local tree of a reader: which of its files is which of the volume's, and where it lies. What
//! is made comes from a directory beside it by one rename, so that nobody sees half of it.

mod whole_tree;

use std::ffi::CString;
use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustc_hash::FxHashMap;
use rustix::fs::{CWD, FileType, Mode, OFlags, fchmod, fstat, openat};
use rustix::io::Errno;

use super::super::commit_upload::MovedContent;
use super::super::evicted_files::EvictedFile;
use super::super::scan::{LentReadPermission, open_directory_at};
use super::super::state_directory::StateDirectory;
use super::super::tree::{DEEPEST, ROOT, join_path};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};
use forebay_os::short_name::ShortName;

pub(super) use whole_tree::{remove_entry, remove_recursively};

pub(super) type Result<T> = std::result::Result<T, Errno>;

/// Told of a file whose bytes are in the bucket, before it has a name.
pub(super) type EvictedFileCallback<'a> = &'a mut dyn FnMut((FileIdentity, u64, EvictedFile));

/// The directory beside the tree; no file of a volume has this number.
pub(super) const ASIDE: u64 = 0;

#[derive(Debug)]
pub(super) struct LocalTree {
    tree: OwnedFd,
    pub(super) aside: OwnedFd,
    pub(super) spots: FxHashMap<u64, LocalFile>,
    /// Counts the files that were made: each state of a file has a number of its own.
    pub(super) made: u64,
}

/// Where a file of the volume's lies here, and which file it is.
#[derive(Debug, Clone)]
pub(super) struct LocalFile {
    /// A folder, and the name in it: of several names one.
    pub(super) parent: u64,
    pub(super) name: ShortName,
    pub(super) identity: FileIdentity,
    pub(super) number: u64,
    pub(super) is_folder: bool,
}

/// What became of the local tree: for the kernel, and for who brings bytes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Names that lead elsewhere: the folder, and the name in it.
    pub(super) names: Vec<(FileIdentity, ShortName)>,
    /// Files whose attributes are others.
    pub(super) files: Vec<FileIdentity>,
    /// Files whose bytes are elsewhere in the bucket.
    pub(super) moved: Vec<MovedContent>,
    /// Files that have no name here any more, and what they were called.
    pub(super) retired: Vec<(FileIdentity, u64, String)>,
}

/// A folder that is open, with what was lent to get there.
#[derive(Debug)]
pub(super) struct EnteredFolder {
    pub(super) fd: OwnedFd,
    _lent: Vec<LentReadPermission>,
}

impl LocalTree {
    /// Of a tree that is empty; what an earlier reader left is removed.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn new(state: &StateDirectory) -> io::Result<LocalTree> {
        let empty = |path: &Path| {
            remove_recursively(path)?;
            std::fs::create_dir(path)?;
            std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok::<_, io::Error>(openat(CWD, path, flags, Mode::empty())?)
        };
        let (tree, aside) = (empty(&state.tree_directory())?, empty(&state.staging_directory())?);
        let identity = FileIdentity::from_statx(&statx_nofollow(tree.as_fd(), c"")?);
        let root =
            LocalFile { parent: ROOT, name: ShortName::NONE, identity, number: 0, is_folder: true };
        Ok(LocalTree { tree, aside, spots: FxHashMap::from_iter([(ROOT, root)]), made: 0 })
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// Those of the file system. ESTALE: it is not here.
    pub(super) fn open_directory(&self, ino: u64) -> Result<EnteredFolder> {
        let mut names = Vec::new();
        let mut at = ino;
        while at != ROOT && at != ASIDE {
            let spot = self.spots.get(&at).filter(|spot| spot.is_folder).ok_or(Errno::STALE)?;
            names.push(&spot.name);
            at = spot.parent;
            if names.len() > DEEPEST.min(self.spots.len()) {
                return Err(Errno::LOOP);
            }
        }
        let start = if at == ROOT { &self.tree } else { &self.aside };
        let here = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut entered =
            EnteredFolder { fd: openat(start, c".", here, Mode::empty())?, _lent: vec![] };
        for name in names.into_iter().rev() {
            let (fd, lent) = open_directory_at(&entered.fd, c_name(name)?.as_c_str())?;
            entered.fd = fd;
            entered._lent.extend(lent);
        }
        Ok(entered)
    }

    /// Which file has this name here, if any has.
    pub(super) fn lookup_identity(
        &self,
        folder: &EnteredFolder,
        name: &ShortName,
    ) -> Result<Option<FileIdentity>> {
        match statx_nofollow(folder.fd.as_fd(), &c_name(name)?) {
            Ok(stat) => Ok(Some(FileIdentity::from_statx(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The path of what has a number, for people.
    pub(super) fn display_path(&self, number: u64) -> Option<String> {
        let (ino, _) = self.spots.iter().find(|(_, spot)| spot.number == number)?;
        Some(self.path_of(*ino))
    }

    pub(super) fn path_of(&self, ino: u64) -> String {
        let mut names = Vec::new();
        let mut at = self.spots.get(&ino);
        while let Some(spot) = at.filter(|spot| !spot.name.is_empty() && names.len() < 4096) {
            names.push(&spot.name);
            at = self.spots.get(&spot.parent);
        }
        let path =
            names.iter().rev().fold(Vec::new(), |path, name| join_path(&path, name.as_bytes()));
        String::from_utf8_lossy(&path).into_owned()
    }
}

pub(super) fn c_name(name: &ShortName) -> Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)
}

/// Its owner may change what is in a folder, whatever its mode was; root may anyway.
pub(super) fn make_owner_writable(folder: &OwnedFd) -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode & 0o7777);
    fchmod(folder, mode | Mode::RWXU)
}

pub(super) fn is_directory_mode(kind: u32) -> bool {
    FileType::from_raw_mode(kind) == FileType::Directory
}
