//! Directories of programs, to places below recorded directories: by device and inode, whatever way
//! led there (links, bind mounts, other mount namespaces).

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forebay_model::TreeId;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxFlags, statx};

use crate::kernel_events::{Place, join};

/// Directories whose places are kept.
const MOST_KEPT: usize = 65_536;

/// A file by device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Identity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// What is known of a file at one time.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileFacts {
    pub(super) identity: Identity,
    /// Tells apart files that have had one inode; 0: the file system does not say.
    pub(super) generation: u32,
    pub(super) kind: FileType,
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) size: u64,
    /// It has holes.
    pub(super) sparse: bool,
    mount: u64,
}

/// Facts of what a path leads to.
pub(super) fn facts_at(
    from: BorrowedFd<'_>,
    path: &[u8],
    follow: bool,
) -> rustix::io::Result<FileFacts> {
    let mut flags = AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    if !follow {
        flags |= AtFlags::SYMLINK_NOFOLLOW;
    }
    if path.is_empty() {
        flags |= AtFlags::EMPTY_PATH;
    }
    statx(from, path, flags, WANTED).map(FileFacts::from)
}

const WANTED: StatxFlags =
    StatxFlags::BASIC_STATS.union(StatxFlags::BTIME).union(StatxFlags::MNT_ID);

impl From<Statx> for FileFacts {
    fn from(stat: Statx) -> FileFacts {
        let born = match stat.stx_mask & StatxFlags::BTIME.bits() {
            0 => 0,
            _ => (stat.stx_btime.tv_sec as u32).rotate_left(16) ^ stat.stx_btime.tv_nsec,
        };
        FileFacts {
            identity: Identity {
                device: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
                inode: stat.stx_ino,
            },
            generation: born,
            kind: FileType::from_raw_mode(stat.stx_mode.into()),
            mode: stat.stx_mode.into(),
            owner: stat.stx_uid,
            size: stat.stx_size,
            sparse: stat.stx_blocks * 512 < stat.stx_size,
            mount: stat.stx_mnt_id,
        }
    }
}

/// A recorded directory.
#[derive(Debug)]
struct Tree {
    root: OwnedFd,
    identity: Identity,
    /// Its path, as descriptors say it, and on its own file system.
    path: Vec<u8>,
    own_path: Option<Vec<u8>>,
}

/// All recorded directories, and what was found out about others.
#[derive(Debug)]
pub(super) struct Places {
    trees: Vec<Tree>,
    devices: FxHashSet<u64>,
    kept: FxHashMap<Identity, Option<Place>>,
}

impl Places {
    pub(super) fn new(roots: Vec<OwnedFd>) -> rustix::io::Result<Places> {
        let mut trees = Vec::new();
        for root in roots {
            let facts = facts_at(root.as_fd(), b"", false)?;
            let path = descriptor_path(root.as_fd()).unwrap_or_default();
            let own_path = own_path(&facts, &path, "self");
            trees.push(Tree { root, identity: facts.identity, path, own_path });
        }
        let devices = trees.iter().map(|tree| tree.identity.device).collect();
        Ok(Places { trees, devices, kept: FxHashMap::default() })
    }

    /// Files of this device may lie in recorded directories.
    pub(super) fn is_near(&self, device: u64) -> bool {
        self.devices.contains(&device)
    }

    /// Directories may have other names now.
    pub(super) fn forget_all(&mut self) {
        self.kept.clear();
    }

    /// Where an open directory is; `None`: in no recorded directory. `process` sees it at its path.
    pub(super) fn place_of_directory(
        &mut self,
        open: BorrowedFd<'_>,
        process: &str,
    ) -> Option<Place> {
        let facts = facts_at(open, b"", false).ok()?;
        if !self.is_near(facts.identity.device) {
            return None;
        }
        if let Some(place) = self.kept.get(&facts.identity) {
            return place.clone();
        }
        let place = self.find_place(open, &facts, process);
        if self.kept.len() >= MOST_KEPT {
            self.kept.clear();
        }
        self.kept.insert(facts.identity, place.clone());
        place
    }

    fn find_place(&self, open: BorrowedFd<'_>, facts: &FileFacts, process: &str) -> Option<Place> {
        let path = descriptor_path(open)?;
        if let Some(place) = self.place_of_path(&path, |tree| Some(&tree.path), facts.identity) {
            return Some(place);
        }
        let own = own_path(facts, &path, process)?;
        self.place_of_path(&own, |tree| tree.own_path.as_ref(), facts.identity)
    }

    /// By a path and those of the trees. The longest is tried first, for one may lie in another.
    fn place_of_path<'t>(
        &'t self,
        path: &[u8],
        tree_path: impl Fn(&'t Tree) -> Option<&'t Vec<u8>>,
        is: Identity,
    ) -> Option<Place> {
        let mut found: Option<(usize, Place)> = None;
        for (number, tree) in self.trees.iter().enumerate() {
            let Some(point) = tree_path(tree) else { continue };
            let Some(rest) = strip_directory(path, point) else { continue };
            if found.as_ref().is_some_and(|(length, _)| *length > point.len()) {
                continue;
            }
            let there = facts_at(tree.root.as_fd(), rest, false);
            if there.is_ok_and(|there| there.identity == is) {
                found = Some((point.len(), (TreeId(number as u16), rest.to_vec())));
            }
        }
        found.map(|(_, place)| place)
    }

    /// What is at a place.
    pub(super) fn facts_of(&self, (tree, path): &Place) -> Option<FileFacts> {
        facts_at(self.trees.get(usize::from(tree.0))?.root.as_fd(), path, false).ok()
    }

    /// Where an open file is, by its path: it is found there, or was removed.
    pub(super) fn place_of_file(&mut self, path: &[u8], process: &str) -> Option<Place> {
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        let cut = path.iter().rposition(|byte| *byte == b'/')?;
        let (directory, name) = (&path[..cut.max(1)], &path[cut + 1..]);
        let whole = PathBuf::from(format!("/proc/{process}/root"));
        let whole =
            whole.join(OsStr::from_bytes(directory.strip_prefix(b"/").unwrap_or(directory)));
        let open = open_directory(CWD, whole.as_os_str().as_bytes()).ok()?;
        let (tree, inside) = self.place_of_directory(open.as_fd(), process)?;
        Some((tree, join(&inside, name)))
    }
}

/// A directory, held by its name alone.
pub(super) fn open_directory(from: BorrowedFd<'_>, path: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(from, path, flags, Mode::empty())
}

/// The path of what is open, as the kernel has it.
pub(super) fn descriptor_path(open: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", open.as_raw_fd())).ok()?;
    Some(link.into_os_string().as_bytes().to_vec())
}

/// What is below a directory.
fn strip_directory<'p>(path: &'p [u8], directory: &[u8]) -> Option<&'p [u8]> {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    let rest = path.strip_prefix(directory)?;
    match rest.first() {
        None => Some(rest),
        Some(b'/') => Some(&rest[1..]),
        Some(_) => None,
    }
}

/// The path on the file system itself, which all of its mounts have in common.
fn own_path(facts: &FileFacts, path: &[u8], process: &str) -> Option<Vec<u8>> {
    let table = std::fs::read(Path::new("/proc").join(process).join("mountinfo")).ok()?;
    own_path_by(&table, facts.mount, path)
}

fn own_path_by(table: &[u8], mount: u64, path: &[u8]) -> Option<Vec<u8>> {
    let line = table.split(|byte| *byte == b'\n').find(|line| {
        let number = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        number == mount.to_string().as_bytes()
    })?;
    let mut words = line.split(|byte| *byte == b' ').skip(3);
    let (root, point) = (unescape(words.next()?), unescape(words.next()?));
    let rest = strip_directory(path, &point)?;
    let root = root.strip_suffix(b"/").unwrap_or(&root);
    Some(if rest.is_empty() { root.to_vec() } else { [root, b"/", rest].concat() })
}

/// Blanks and the like are written as `\040`.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut at = 0;
    while at < word.len() {
        let digits = word.get(at + 1..at + 4).filter(|_| word[at] == b'\\');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(byte.unwrap_or(word[at]));
        at += if byte.is_some() { 4 } else { 1 };
    }
    plain
}

#[cfg(test)]
mod tests {
    //! If these fail, operations are told of files that they were not about.
    use super::*;

    #[test]
    fn bind_mounts_lead_to_the_path_on_the_file_system() {
        let table = b"36 35 8:1 / / rw - ext4 /dev/sda1 rw\n\
            41 36 8:1 /home/me/my\\040data /mnt rw - ext4 /dev/sda1 rw\n";
        let own = |mount, path: &[u8]| own_path_by(table, mount, path);
        assert_eq!(own(36, b"/home/me"), Some(b"/home/me".to_vec()));
        assert_eq!(own(41, b"/mnt/a"), Some(b"/home/me/my data/a".to_vec()));
        assert_eq!(own(41, b"/mnt"), Some(b"/home/me/my data".to_vec()));
        assert_eq!(own(41, b"/mnt2/a"), None);
        assert_eq!(own(7, b"/mnt/a"), None);
    }

    #[test]
    fn directories_are_known_by_inode_and_nothing_outside_is() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().join("tree");
        std::fs::create_dir_all(root.join("a/b")).expect("made");
        std::fs::create_dir_all(place.path().join("tree2/a")).expect("made");
        std::os::unix::fs::symlink("tree/a", place.path().join("link")).expect("made");
        let fd = OwnedFd::from(std::fs::File::open(&root).expect("open"));
        let mut places = Places::new(vec![fd]).expect("known");
        let mut find = |path: &str| {
            let path = place.path().join(path);
            let open = open_directory(CWD, path.as_os_str().as_bytes()).expect("open");
            places.place_of_directory(open.as_fd(), "self")
        };
        let at = |path: &str| Some((TreeId(0), path.as_bytes().to_vec()));
        assert_eq!(find("tree"), at(""));
        assert_eq!(find("tree/a/b"), at("a/b"));
        assert_eq!(find("link/b"), at("a/b"));
        assert_eq!(find("tree2/a"), None);
        assert_eq!(find("."), None);
    }
}
