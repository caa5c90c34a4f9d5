//! Names as programs give them, to paths below recorded directories. The directory of a name is
//! opened and the kernel asked which of its entries that is, so links, bind mounts and `..` lead
//! where they lead; what was found is kept until a directory or link changes its name.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use forebay_model::TreeId;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

/// Directories that are kept.
const MOST_KEPT: usize = 16_384;
/// Mount namespaces whose roots are kept.
const MOST_NAMESPACES: usize = 256;

/// Where a name begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Base {
    /// In a recorded directory, at this path.
    Tree(TreeId, Vec<u8>),
    /// At the root of a mount namespace, by its number.
    Root(u64),
}

/// A path below a recorded directory.
pub(crate) type Place = (TreeId, Vec<u8>);

/// Says which entry of which recorded directory an open directory is; `None`: of none.
pub(super) trait Whereabouts {
    fn whereabouts(&mut self, directory: &OwnedFd) -> Option<Place>;
}

/// A mount namespace other than ours, for as long as processes of the run are known in it: nobody
/// is to find its file systems busy afterwards.
#[derive(Debug)]
struct Namespace {
    root: OwnedFd,
    /// Its mounts go with its last process, unless it is held; what was done to names is told later.
    _held: OwnedFd,
    processes: FxHashSet<u32>,
}

/// Paths of names.
#[derive(Debug)]
pub(crate) struct Names {
    /// The recorded directories, by number.
    roots: Vec<OwnedFd>,
    /// Our own mount namespace, and the roots of others.
    namespace: u64,
    namespaces: FxHashMap<u64, Namespace>,
    kept: FxHashMap<(Base, Vec<u8>), Option<Place>>,
}

impl Names {
    pub(crate) fn new(roots: Vec<OwnedFd>) -> Names {
        Names {
            roots,
            namespace: namespace_of("self").unwrap_or(0),
            namespaces: FxHashMap::default(),
            kept: FxHashMap::default(),
        }
    }

    /// A process was seen in a mount namespace: its root is kept, for the process may be gone when
    /// it is needed.
    pub(super) fn note_namespace(&mut self, namespace: u64, process: u32) {
        if namespace == self.namespace {
            return;
        }
        if let Some(known) = self.namespaces.get_mut(&namespace) {
            known.processes.insert(process);
            return;
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, format!("/proc/{process}/root"), flags, Mode::empty());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let held = openat(CWD, format!("/proc/{process}/ns/mnt"), flags, Mode::empty());
        // The process may be in another one by now, or have ended and its number be another's.
        if let (Ok(root), Ok(held), Some(now)) = (root, held, namespace_of(&process.to_string()))
            && now == namespace
        {
            if self.namespaces.len() >= MOST_NAMESPACES {
                self.namespaces.clear();
            }
            let processes = FxHashSet::from_iter([process]);
            self.namespaces.insert(namespace, Namespace { root, _held: held, processes });
            // What was looked for in it in vain may be found.
            self.kept.retain(|(base, _), _| *base != Base::Root(namespace));
        }
    }

    /// A process ended, and nothing more is told of it: so may its namespace.
    pub(super) fn forget_process(&mut self, process: u32) {
        let kept = &mut self.kept;
        self.namespaces.retain(|namespace, known| {
            let last = known.processes.remove(&process) && known.processes.is_empty();
            if last {
                // Its number may be given again.
                kept.retain(|(base, _), _| *base != Base::Root(*namespace));
            }
            !last
        });
    }

    /// A recorded directory.
    pub(super) fn root(&self, tree: TreeId) -> Option<&OwnedFd> {
        self.roots.get(usize::from(tree.0))
    }

    /// Directories or links may be others now.
    pub(super) fn forget_all(&mut self) {
        self.kept.clear();
    }

    /// Where a name leads; `None`: to no recorded directory.
    pub(super) fn place_of(
        &mut self,
        base: Base,
        name: &[u8],
        kernel: &mut impl Whereabouts,
    ) -> Option<Place> {
        let end = name.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
        let name = &name[..end];
        let cut = name.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
        let (directory, last) = name.split_at(cut);
        if matches!(last, b"" | b"." | b"..") {
            return self.directory(base, name, kernel);
        }
        let (tree, path) = self.directory(base, directory, kernel)?;
        Some((tree, join(&path, last)))
    }

    fn directory(
        &mut self,
        base: Base,
        name: &[u8],
        kernel: &mut impl Whereabouts,
    ) -> Option<Place> {
        if let (Base::Tree(tree, path), b"" | b".") = (&base, name) {
            return Some((*tree, path.clone()));
        }
        let key = (base.clone(), name.to_vec());
        if let Some(found) = self.kept.get(&key) {
            return found.clone();
        }
        let found = match self.open(&base, name) {
            Some(open) => kernel.whereabouts(&open),
            // It is gone, or its process is: by the words alone, as far as they say it.
            None => match &base {
                Base::Tree(tree, path) => by_words(path, name).map(|path| (*tree, path)),
                Base::Root(_) => None,
            },
        };
        if self.kept.len() >= MOST_KEPT {
            self.kept.clear();
        }
        self.kept.insert(key, found.clone());
        found
    }

    fn open(&self, base: &Base, name: &[u8]) -> Option<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let name = OsStr::from_bytes(name);
        let found = match base {
            Base::Tree(tree, path) => {
                let path = PathBuf::from(OsStr::from_bytes(path)).join(name);
                openat(self.root(*tree)?, path, flags, Mode::empty())
            }
            Base::Root(namespace) if *namespace == self.namespace => {
                openat(CWD, name, flags, Mode::empty())
            }
            Base::Root(namespace) => {
                let root = &self.namespaces.get(namespace)?.root;
                openat2(root, name, flags, Mode::empty(), ResolveFlags::IN_ROOT)
            }
        };
        found.ok()
    }
}

/// The number of a process's mount namespace.
fn namespace_of(process: &str) -> Option<u64> {
    let link = std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok()?;
    link.to_str()?.strip_prefix("mnt:[")?.strip_suffix(']')?.parse().ok()
}

pub(crate) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    if path.is_empty() { name.to_vec() } else { [path, name].join(&b'/') }
}

/// A path by its words; `None` if they lead out of the directory.
fn by_words(path: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/').chain(name.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join(&b'/'))
}

#[cfg(test)]
mod tests {
    //! If these fail, operations are told of files that they were not about.
    use super::*;

    struct Known;

    impl Whereabouts for Known {
        fn whereabouts(&mut self, directory: &OwnedFd) -> Option<Place> {
            let number = std::os::fd::AsRawFd::as_raw_fd(directory);
            let path = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
            let at = path.as_os_str().as_bytes();
            let from = at.windows(6).position(|part| part == b"/tree/")? + 6;
            Some((TreeId(0), at[from..].to_vec()))
        }
    }

    #[test]
    fn names_lead_through_links_and_out() {
        let place = tempfile::tempdir().expect("a directory");
        let root = place.path().join("tree");
        std::fs::create_dir_all(root.join("a/b")).expect("made");
        std::os::unix::fs::symlink("a/b", root.join("link")).expect("made");
        let fd = OwnedFd::from(std::fs::File::open(&root).expect("open"));
        let mut names = Names::new(vec![fd]);
        let tree = |path: &str| Base::Tree(TreeId(0), path.as_bytes().to_vec());
        let mut place = |base, name: &str| names.place_of(base, name.as_bytes(), &mut Known);
        let at = |path: &str| Some((TreeId(0), path.as_bytes().to_vec()));
        assert_eq!(place(tree(""), "x"), at("x"));
        assert_eq!(place(tree("a"), "./x//"), at("a/x"));
        assert_eq!(place(tree(""), "link/x"), at("a/b/x"));
        assert_eq!(place(tree("a"), "b/../x"), at("a/x"));
        assert_eq!(place(tree(""), "../other/x"), None);
        assert_eq!(place(tree("a"), "gone/../x"), at("a/x"), "by its words");
        assert_eq!(place(tree("a"), "gone/../../../x"), None);
        let here = namespace_of("self").expect("a namespace");
        let absolute = format!("{}/link/x", root.display());
        assert_eq!(place(Base::Root(here), &absolute), at("a/b/x"));
    }
}
