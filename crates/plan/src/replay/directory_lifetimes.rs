//! Directories that the run made and removed. A run counts them by class alone: those of files that
//! it used are taken first, then some that nothing is in.

use super::ReplayAction;
use super::replay_paths::{ancestor_directories, join_path, split_path};
use super::run_lookup::{Owner, RunLookup};
use super::timed_act::{Actor, TimedAction};
use forebay_model::ClassId;
use std::collections::BTreeMap;

/// Which there are, and what became of them.
pub(super) struct DirectoryLifetimes<'a> {
    told: &'a RunLookup<'a>,
    by_class: &'a BTreeMap<String, Vec<Vec<u8>>>,
    /// When the first file in a folder was used, and when the last was gone, if all are.
    used: BTreeMap<&'a [u8], (f64, Option<f64>)>,
    /// How many of a class were made, and what nothing is in.
    made: BTreeMap<ClassId, usize>,
    spares: BTreeMap<ClassId, Vec<Vec<u8>>>,
    emptied: BTreeMap<ClassId, Vec<(Vec<u8>, f64)>>,
    count: usize,
}

impl<'a> DirectoryLifetimes<'a> {
    pub(super) fn for_run(
        told: &'a RunLookup<'a>,
        by_class: &'a BTreeMap<String, Vec<Vec<u8>>>,
    ) -> Self {
        let mut first = vec![f64::INFINITY; told.names.len()];
        for open in told.opens {
            if let Some(file) = told.file_of_open(open) {
                first[file] = first[file].min(open.open.opened.as_secs());
            }
        }
        let mut used: BTreeMap<&[u8], (f64, Option<f64>)> = BTreeMap::new();
        for (file, name) in told.names.iter().enumerate() {
            let gone = told.rows.gone.get(&told.rows.files[file].id).map(|at| at.as_secs());
            for folder in ancestor_directories(&name.path) {
                let (from, to) = used.entry(folder).or_insert((f64::INFINITY, Some(0.0)));
                *from = from.min(first[file]);
                *to = to.zip(gone).map(|(to, gone)| to.max(gone));
            }
        }
        let (made, spares, emptied) = Default::default();
        Self { told, by_class, used, made, spares, emptied, count: 0 }
    }

    /// Makes so many; all of them can be made.
    pub(super) fn make_directories(
        &mut self,
        owner: Owner,
        class: ClassId,
        count: u64,
        acts: &mut Vec<TimedAction>,
    ) -> u64 {
        let pattern = self.told.rows.classes.get(&class.0).map_or("", String::as_str);
        let (start, end) = self.told.owner_span(owner);
        for _ in 0..count {
            let made = self.made.entry(class).or_default();
            let known = self.by_class.get(pattern).and_then(|all| all.get(*made));
            *made += 1;
            let (path, at) = match known {
                Some(path) => {
                    let (first, gone) = self.used[path.as_slice()];
                    if let Some(gone) = gone {
                        self.emptied.entry(class).or_default().push((path.clone(), gone));
                    }
                    (path.clone(), first.min(start.max(0.0)))
                }
                None => {
                    let (parent, _) = split_path(pattern.as_bytes());
                    let parent = self.by_class.get(&*String::from_utf8_lossy(parent));
                    let parent = parent.map_or(&b""[..], |all| all[0].as_slice());
                    self.count += 1;
                    let path = spare_name(parent, self.count);
                    self.spares.entry(class).or_default().push(path.clone());
                    (path, (start + end) / 2.0)
                }
            };
            acts.push(TimedAction::new(at, Actor::for_owner(owner), ReplayAction::Mkdir(path)));
        }
        count
    }

    /// Removes so many of those that were made here, as far as there are any.
    pub(super) fn remove_directories(
        &mut self,
        owner: Owner,
        class: ClassId,
        count: u64,
        acts: &mut Vec<TimedAction>,
    ) -> u64 {
        /// What is inside goes first.
        const APART_SECS: f64 = 1e-6;
        const DEEPEST: usize = 64;
        let (start, _) = self.told.owner_span(owner);
        for done in 0..count {
            let spare = self.spares.get_mut(&class).and_then(Vec::pop).map(|path| (path, start));
            let emptied = || self.emptied.get_mut(&class).and_then(Vec::pop);
            let Some((path, empty)) = spare.or_else(emptied) else { return done };
            let depth = ancestor_directories(&path).count().min(DEEPEST);
            let at = empty.max(start) + (DEEPEST - depth) as f64 * APART_SECS;
            acts.push(TimedAction::new(at, Actor::for_owner(owner), ReplayAction::Rmdir(path)));
        }
        count
    }
}

/// A name that no file of a run has.
fn spare_name(folder: &[u8], number: usize) -> Vec<u8> {
    join_path(folder, format!("forebay-spare-{number}").as_bytes())
}
