//! What the bucket knows of a volume: every file, its names, and where its bytes are. It is what the
//! records of all segments come to, and what a checkpoint says again.

mod links;
mod tree_records;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::extended::is_persisted_xattr;
use super::tree_record::{Attr, ContentLocation, HERE, Kind, TreeRecord};
use forebay_os::short_name::ShortName;

/// The volume itself.
pub(crate) const ROOT: u64 = 1;
/// Folders that may lie in each other: a path through more is longer than any that a call takes
/// (`PATH_MAX`).
pub(crate) const DEEPEST: usize = 2048;

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VolumeFile {
    pub(crate) kind: Kind,
    pub(crate) attr: Attr,
    pub(crate) place: ContentLocation,
    /// Where the checksums of its object are.
    pub(crate) sums: Option<Box<ContentLocation>>,
    pub(crate) links: u32,
    pub(crate) extended: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Of a folder: its names.
    pub(crate) names: BTreeMap<ShortName, u64>,
}

impl VolumeFile {
    fn new(kind: Kind, attr: Attr) -> VolumeFile {
        let (extended, names) = (BTreeMap::new(), BTreeMap::new());
        VolumeFile {
            kind,
            attr,
            place: ContentLocation::Empty,
            sums: None,
            links: 0,
            extended,
            names,
        }
    }

    /// Whether it has an object of its own.
    fn has_own_object(&self) -> bool {
        matches!(self.place, ContentLocation::Own { .. })
    }
}

/// All files, by number.
#[derive(Debug)]
pub(crate) struct VolumeTree {
    files: FxHashMap<u64, VolumeFile>,
    /// Those that are new, or have lost a name, since the last cut.
    loose: BTreeSet<u64>,
    /// Folders that have got a second name since then: one that moves has two for a while.
    twice: BTreeSet<u64>,
    /// At a cut a folder had two names: it is no tree.
    is_knotted: bool,
    /// Objects of files that a cut has ended, or that have got others.
    pub(crate) unused: Vec<String>,
    /// Files that cuts have ended, where somebody wants to know.
    pub(crate) ended: Option<Vec<u64>>,
    pub(crate) next: u64,
}

impl Default for VolumeTree {
    fn default() -> Self {
        let mut files = FxHashMap::default();
        let attr = Attr { mode: 0o755, ..Attr::default() };
        files.insert(ROOT, VolumeFile { links: 1, ..VolumeFile::new(Kind::Folder, attr) });
        let (loose, twice) = (BTreeSet::new(), BTreeSet::new());
        let (unused, ended, next) = (Vec::new(), None, ROOT + 1);
        VolumeTree { files, loose, twice, is_knotted: false, unused, ended, next }
    }
}

impl VolumeTree {
    pub(crate) fn file(&self, ino: u64) -> Option<&VolumeFile> {
        self.files.get(&ino)
    }

    /// Where a name in a folder leads.
    pub(crate) fn lookup_name(&self, folder: u64, name: &[u8]) -> Option<u64> {
        self.files.get(&folder)?.names.get(name).copied()
    }

    /// All files.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u64, &VolumeFile)> {
        self.files.iter().map(|(ino, file)| (*ino, file))
    }

    /// Hands over each plain file that has an object of its own, in the folder and below, with its
    /// path.
    pub(crate) fn for_each_object_below(&self, ino: u64, take: &mut impl FnMut(u64, &[u8], &str)) {
        let is_worth =
            |file: &VolumeFile| matches!(file.kind, Kind::Folder) || file.has_own_object();
        let mut left = vec![(ino, Vec::new())];
        while let Some((ino, path)) = left.pop() {
            let Some(file) = self.files.get(&ino) else { continue };
            if let ContentLocation::Own { key, .. } = &file.place {
                take(ino, &path, key);
            }
            // The last ones first, since the last that is put there is the next.
            for (name, ino) in file.names.iter().rev() {
                if self.files.get(ino).is_some_and(is_worth) {
                    left.push((*ino, join_path(&path, name.as_bytes())));
                }
            }
        }
    }

    /// Whether folders lie deeper in each other than [`DEEPEST`].
    pub(crate) fn is_too_deep(&self) -> bool {
        let mut level = vec![ROOT];
        for _ in 0..=DEEPEST {
            let names = level.iter().filter_map(|ino| self.files.get(ino));
            let below = names.flat_map(|folder| folder.names.values()).copied();
            let is_folder = |ino: &u64| self.files.get(ino).is_some_and(|it| !it.names.is_empty());
            level = below.filter(is_folder).collect();
            if level.is_empty() {
                return false;
            }
        }
        true
    }

    /// Files and folders that are new, or have lost a name, since the last cut.
    pub(crate) fn loose(&self) -> impl Iterator<Item = u64> {
        self.loose.iter().copied()
    }

    /// The file at a path.
    pub(crate) fn lookup_path(&self, path: &[u8]) -> Option<u64> {
        let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        parts.into_iter().try_fold(ROOT, |folder, name| self.lookup_name(folder, name))
    }

    /// The segment is written that these files' bytes are in.
    pub(crate) fn assign_segment(&mut self, number: u64, files: &[u64]) {
        for ino in files {
            let Some(file) = self.files.get_mut(ino) else { continue };
            for place in std::iter::once(&mut file.place).chain(file.sums.as_deref_mut()) {
                if let ContentLocation::Packed { segment, .. } = place
                    && *segment == HERE
                {
                    *segment = number;
                }
            }
        }
    }

    /// At some cut it was no tree, so it may have no end.
    pub(crate) fn is_knotted(&self) -> bool {
        self.is_knotted
    }

    /// Takes a record in; false if it makes no sense, and changes nothing but, where it is a cut,
    /// that this is no tree from now on.
    pub(crate) fn apply_record(&mut self, record: &TreeRecord<'_>) -> bool {
        match record {
            TreeRecord::Begin { .. } => {}
            TreeRecord::File { ino, kind, attr } => {
                let is_folder = |kind: &Kind| *kind == Kind::Folder;
                let known = self.files.get(ino).map(|file| is_folder(&file.kind));
                if known.is_some_and(|was| was != is_folder(kind)) || *ino == u64::MAX {
                    return false;
                }
                self.next = self.next.max(ino + 1);
                let file = self.files.entry(*ino).or_insert_with(|| {
                    self.loose.insert(*ino);
                    VolumeFile::new(kind.clone(), *attr)
                });
                (file.kind, file.attr) = (kind.clone(), *attr);
            }
            TreeRecord::Bytes { ino, place } => {
                let Some(file) = self.files.get_mut(ino) else { return false };
                file.sums = None;
                if let ContentLocation::Own { key, .. } =
                    std::mem::replace(&mut file.place, place.clone())
                    && !matches!(place, ContentLocation::Own { key: new, .. } if *new == key)
                {
                    self.unused.push(key);
                }
            }
            TreeRecord::Sums { ino, place } => {
                let Some(file) = self.files.get_mut(ino) else { return false };
                file.sums = Some(Box::new(place.clone()));
            }
            TreeRecord::Extended { name, .. } if !is_persisted_xattr(name) => return false,
            TreeRecord::Extended { ino, name, value } => {
                let Some(file) = self.files.get_mut(ino) else { return false };
                match value {
                    Some(value) => drop(file.extended.insert(name.to_vec(), value.to_vec())),
                    None => drop(file.extended.remove(*name)),
                }
            }
            TreeRecord::Name { folder, name, ino } => return self.link_name(*folder, name, *ino),
            TreeRecord::Gone { folder, name } => {
                let Some(folder) = self.files.get_mut(folder) else { return false };
                let Some(ino) = folder.names.remove(*name) else { return false };
                self.drop_link(ino);
            }
            TreeRecord::Cut => return self.apply_commit(),
        }
        true
    }
}

/// A name in the folder at `path`.
pub(crate) fn join_path(path: &[u8], name: &[u8]) -> Vec<u8> {
    match path {
        b"" => name.to_vec(),
        path => [path, b"/", name].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(ino: u64) -> TreeRecord<'static> {
        TreeRecord::File { ino, kind: Kind::Plain, attr: Attr::default() }
    }

    fn folder(ino: u64) -> TreeRecord<'static> {
        TreeRecord::File { ino, kind: Kind::Folder, attr: Attr::default() }
    }

    fn story() -> VolumeTree {
        let mut tree = VolumeTree::default();
        for record in [
            folder(2),
            TreeRecord::Name { folder: ROOT, name: b"dir", ino: 2 },
            plain(3),
            TreeRecord::Bytes {
                ino: 3,
                place: ContentLocation::Packed { segment: 1, at: 0, length: 4, crc: 9 },
            },
            TreeRecord::Extended { ino: 3, name: b"user.a", value: Some(b"b") },
            TreeRecord::Name { folder: 2, name: b"one", ino: 3 },
            TreeRecord::Name { folder: ROOT, name: b"two", ino: 3 },
            TreeRecord::Cut,
        ] {
            assert!(tree.apply_record(&record), "{record:?}");
        }
        tree
    }

    fn seen(tree: &VolumeTree) -> BTreeMap<u64, VolumeFile> {
        tree.files().map(|(ino, file)| (ino, file.clone())).collect()
    }

    #[test]
    fn a_checkpoint_says_all_that_the_records_came_to() {
        let tree = story();
        let mut again = VolumeTree::default();
        tree.for_each_record(|record| assert!(again.apply_record(record), "{record:?}"));
        assert_eq!(seen(&again), seen(&tree));
        assert_eq!(again.next, tree.next);
        assert_eq!(again.file(3).expect("there").links, 2);
    }

    #[test]
    fn a_file_goes_with_its_last_name_at_a_cut_and_a_folder_with_all_in_it() {
        let mut tree = story();
        assert!(tree.apply_record(&TreeRecord::Gone { folder: ROOT, name: b"two" }));
        assert!(tree.apply_record(&TreeRecord::Cut));
        assert_eq!(tree.file(3).expect("one name left").links, 1);
        // Moved: the old name goes, the new one comes, in either order, before the cut.
        assert!(tree.apply_record(&TreeRecord::Gone { folder: 2, name: b"one" }));
        assert!(tree.apply_record(&TreeRecord::Name { folder: ROOT, name: b"moved", ino: 3 }));
        assert!(tree.apply_record(&TreeRecord::Cut));
        assert_eq!(tree.lookup_name(ROOT, b"moved"), Some(3));
        assert!(tree.apply_record(&TreeRecord::Name { folder: 2, name: b"back", ino: 3 }));
        assert!(tree.apply_record(&TreeRecord::Gone { folder: ROOT, name: b"moved" }));
        assert!(tree.apply_record(&TreeRecord::Gone { folder: ROOT, name: b"dir" }));
        assert!(tree.apply_record(&TreeRecord::Cut));
        assert_eq!(tree.files().count(), 1, "only the root");
        assert!(
            !tree.apply_record(&TreeRecord::Name { folder: 2, name: b"x", ino: 3 }),
            "no such folder"
        );
    }

    #[test]
    fn a_name_that_leads_elsewhere_lets_go_of_the_file_before() {
        let mut tree = story();
        assert!(tree.apply_record(&plain(4)));
        for folder in [ROOT, 2] {
            let name: &[u8] = if folder == 2 { b"one" } else { b"two" };
            assert!(tree.apply_record(&TreeRecord::Name { folder, name, ino: 4 }));
        }
        assert!(tree.apply_record(&TreeRecord::Cut));
        assert!(tree.file(3).is_none());
        assert_eq!(tree.file(4).expect("there").links, 2);
    }
}
