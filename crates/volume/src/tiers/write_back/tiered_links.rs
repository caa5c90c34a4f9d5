//! Finding the links of placed files below a directory, all names of one body together, without
//! ever following a link.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, readlinkat};
use rustix::io::Errno;

use super::{LeftBehindFile, LinksByInode};
use crate::tiers::walk::{WalkMode, walk_tree};
use crate::tiers::{TierDirectory, TieredFile, Tiers, is_trusted_link};
use forebay_os::file_identity::statx_nofollow;

/// One body, and all links to it.
pub(in crate::tiers) struct LinkGroup {
    pub(in crate::tiers) placed: TieredFile,
    /// Several links of different identity are copies that somebody made outside.
    pub(super) links: LinksByInode,
    /// How many names the links have, found or not.
    names: u64,
}

impl LinkGroup {
    /// All names of the links were found.
    pub(super) fn has_all_names(&self) -> bool {
        self.links.values().map(|names| names.len() as u64).sum::<u64>() == self.names
    }

    pub(super) fn link_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.links.values().flatten()
    }

    /// Its only name.
    pub(in crate::tiers) fn only_path(&self) -> Option<&Path> {
        let mut all = self.link_paths();
        all.next().filter(|_| all.next().is_none()).map(PathBuf::as_path)
    }

    pub(super) fn first_path(&self) -> &Path {
        self.link_paths().next().map_or(Path::new("."), PathBuf::as_path)
    }
}

/// What a walk found.
pub(in crate::tiers) struct FoundLinks {
    /// All links of placed files, in the order of their bodies' names.
    pub(in crate::tiers) groups: Vec<LinkGroup>,
    /// Links that could not be followed.
    pub(super) left: Vec<LeftBehindFile>,
    /// Links whose bodies are gone, and the rooms that these were in.
    pub(super) lost: Vec<(LeftBehindFile, usize)>,
    /// Directories that this user may not read. They matter only if some body has no name.
    pub(super) closed: Vec<LeftBehindFile>,
}

/// Whether there may be links of placed files.
pub(super) fn may_have_links(tiers: &Tiers) -> bool {
    !tiers.missing.is_empty() || !tiers.rooms.iter().all(TierDirectory::is_empty)
}

/// Looks for the links of placed files.
pub(in crate::tiers) fn find_tiered_links(
    root: &OwnedFd,
    tiers: &Tiers,
    walking: WalkMode,
) -> FoundLinks {
    let mut met =
        LinkCollector { tiers, groups: BTreeMap::new(), left: Vec::new(), lost: Vec::new() };
    let closed = walk_links(root, walking, &mut |dir, name, path| {
        if let Err(why) = met.meet_link(dir, name, path) {
            met.left.push(LeftBehindFile { path: path.to_owned(), why });
        }
    });
    let groups = met.groups.into_values().collect();
    FoundLinks { groups, left: met.left, lost: met.lost, closed }
}

/// Shows `meet` every symbolic link below `root`: its directory, its name, and its path. Tells which
/// directories could not be looked into.
pub(super) fn walk_links(
    root: &OwnedFd,
    walking: WalkMode,
    meet: &mut dyn FnMut(&OwnedFd, &CStr, &Path),
) -> Vec<LeftBehindFile> {
    walk_tree(root, walking, &mut |dir, name, kind, path| {
        if kind == FileType::Symlink {
            meet(dir, name, path);
        }
    })
}

/// What links were met.
struct LinkCollector<'a> {
    tiers: &'a Tiers,
    groups: BTreeMap<(usize, CString), LinkGroup>,
    left: Vec<LeftBehindFile>,
    lost: Vec<(LeftBehindFile, usize)>,
}

impl LinkCollector<'_> {
    fn meet_link(&mut self, dir: &OwnedFd, name: &CStr, path: &Path) -> Result<(), String> {
        let word = |error: Errno| error.to_string();
        let Some(placed) = self.tiers.recognise_link(dir.as_fd(), name) else {
            // A link into a room that is not there stays, for the day when its tier is back.
            let target = readlinkat(dir, name, Vec::with_capacity(256)).map_err(word)?;
            let target = Path::new(OsStr::from_bytes(target.to_bytes()));
            let away = self.tiers.missing.iter().any(|entry| target.starts_with(&entry.path));
            return if away { Err("its tier is not there".to_owned()) } else { Ok(()) };
        };
        let link = statx_nofollow(dir.as_fd(), name).map_err(word)?;
        let body = match self.tiers.stat_data_file(&placed) {
            // Purged from its tier by age, or taken by a power failure there.
            Err(Errno::NOENT) => {
                let why = format!("{} is not there", self.tiers.data_file_path(&placed).display());
                self.lost.push((LeftBehindFile { path: path.to_owned(), why }, placed.room));
                return Ok(());
            }
            body => body.map_err(word)?,
        };
        if !is_trusted_link(&link, &body) {
            // Somebody's link to a file of somebody else.
            return Ok(());
        }
        let key = (placed.room, placed.key.clone());
        let fresh = || LinkGroup { placed, links: LinksByInode::new(), names: 0 };
        let group = self.groups.entry(key).or_insert_with(fresh);
        let names = group.links.entry(link.stx_ino).or_default();
        if names.is_empty() {
            group.names += u64::from(link.stx_nlink);
        }
        names.push(path.to_owned());
        Ok(())
    }
}
