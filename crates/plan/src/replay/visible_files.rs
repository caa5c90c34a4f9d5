//! What there is to look at: which files and folders of a class there are, when, and who had them open.

use super::replay_paths::{ancestor_directories, normalize_path, split_path};
use super::run_lookup::{Owner, RunLookup};
use forebay_model::file_classes::class_of;
use forebay_model::{ClassId, Op};
use std::collections::{BTreeMap, BTreeSet};

/// What there is to look at.
pub(super) struct VisibleFiles<'a> {
    pub(super) told: &'a RunLookup<'a>,
    /// Opens by owner and class of file, and all that write by owner.
    pub(super) opens: BTreeMap<(Owner, ClassId), Vec<usize>>,
    pub(super) writes: BTreeMap<Owner, Vec<usize>>,
    /// Files by class, with the times from which and until which they are there; folders by class.
    files: BTreeMap<ClassId, Vec<(f64, f64, usize)>>,
    pub(super) folders: BTreeMap<String, Vec<Vec<u8>>>,
}

impl<'a> VisibleFiles<'a> {
    pub(super) fn for_run(told: &'a RunLookup<'a>) -> Self {
        let mut sights = Self {
            told,
            opens: BTreeMap::new(),
            writes: BTreeMap::new(),
            files: BTreeMap::new(),
            folders: BTreeMap::new(),
        };
        let mut seen = vec![false; told.names.len()];
        for (session, open) in told.opens.iter().enumerate() {
            let Some(file) = told.file_of_open(open) else { continue };
            if !std::mem::replace(&mut seen[file], true) {
                let from = if open.open.created { told.close_time(open) } else { 0.0 };
                let gone = told.rows.gone.get(&open.open.file);
                let until = gone.map_or(f64::INFINITY, |at| at.as_secs());
                sights.files.entry(told.class_of_file(file)).or_default().push((from, until, file));
            }
            let owner = told.owner_of_open(open);
            sights.opens.entry((owner, told.class_of_file(file))).or_default().push(session);
            if open.open.write {
                sights.writes.entry(owner).or_default().push(session);
            }
        }
        sights.files.values_mut().for_each(|files| files.sort_by(|a, b| a.0.total_cmp(&b.0)));
        let mut folders: BTreeSet<(String, Vec<u8>)> = BTreeSet::new();
        for (file, name) in told.names.iter().enumerate() {
            // Classes are of paths in their own tree.
            let own = normalize_path(&told.rows.files[file].path);
            let prefix = &name.path[..name.path.len() - own.len()];
            for folder in ancestor_directories(&own) {
                folders.insert((class_of(folder), [prefix, folder].concat()));
            }
        }
        for (class, folder) in folders {
            sights.folders.entry(class).or_default().push(folder);
        }
        sights
    }

    pub(super) fn class_pattern(&self, class: ClassId) -> &str {
        self.told.rows.classes.get(&class.0).map_or("", String::as_str)
    }

    /// A folder of this class; the directory itself if there is none.
    pub(super) fn directory_of_class(&self, class: ClassId) -> Vec<u8> {
        self.folders
            .get(self.class_pattern(class))
            .map_or_else(|| b".".to_vec(), |all| all[0].clone())
    }

    /// A folder for names of this class.
    pub(super) fn parent_directory_of(&self, class: ClassId) -> Vec<u8> {
        let (parent, _) = split_path(self.class_pattern(class).as_bytes());
        let parent = String::from_utf8_lossy(parent);
        self.folders.get(&*parent).map_or_else(|| b".".to_vec(), |all| all[0].clone())
    }

    /// How many names were made and removed in folders of this class: before the next, the kernel
    /// asks for the folder's attributes by itself.
    pub(super) fn count_changes_in(&self, owner: Owner, class: ClassId) -> u64 {
        let folder = self.class_pattern(class);
        let of_owner = (owner, ClassId(0))..=(owner, ClassId(u32::MAX));
        let inside = self.told.ops.range(of_owner).filter(|((_, class), _)| {
            let (parent, name) = split_path(self.class_pattern(*class).as_bytes());
            parent == folder.as_bytes() && !name.is_empty()
        });
        let changes = [Op::Create, Op::Unlink, Op::Rename, Op::Mkdir, Op::Rmdir];
        let count =
            |ops: &BTreeMap<Op, u64>| changes.iter().filter_map(|op| ops.get(op)).sum::<u64>();
        inside.map(|(_, ops)| count(ops)).sum()
    }

    /// A file of this class that is there at this moment: one of those that were made last.
    pub(super) fn existing_file(&self, class: ClassId, at: f64, number: u64) -> Option<usize> {
        const LAST: usize = 16;
        let files = self.files.get(&class)?;
        let made = &files[..files.partition_point(|(from, ..)| *from <= at)];
        let last = &made[made.len().saturating_sub(LAST)..];
        let there: Vec<usize> =
            last.iter().filter(|(_, until, _)| at < *until).map(|(.., file)| *file).collect();
        there.get(number as usize % there.len().max(1)).copied()
    }
}
