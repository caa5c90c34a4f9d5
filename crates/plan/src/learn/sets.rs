//! Files that are made, read and freed together become one set, so that a run with 100,000 files
//! stays small; and classes, with one path each that rules can be asked about.

use super::file_uses::{FileHistory, FileUser};
use super::passing_names::PassingNames;
use super::timeline::{SLACK, Timeline};
use crate::loaded_run::LoadedRun;
use forebay_model::workload::{DeletionPoint, FileClass, FileClassId, FileSet, FileSetId, TaskId};
use forebay_model::{ByteCount, ClassId};
use std::collections::{BTreeMap, BTreeSet};

/// What one of them did to one set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SetUse {
    pub(super) opens: u64,
    /// Of these, those that wrote bytes.
    pub(super) wrote: u64,
    pub(super) read: u64,
    pub(super) written: u64,
    /// Of both, what nobody saw.
    pub(super) guessed: u64,
}

/// Classes and sets, and who did what to them.
#[derive(Clone, Debug, Default)]
pub(super) struct FileSets {
    pub(super) classes: Vec<FileClass>,
    pub(super) files: Vec<FileSet>,
    /// By user and class of the run.
    pub(super) uses: BTreeMap<(FileUser, ClassId), BTreeMap<FileSetId, SetUse>>,
    places: BTreeMap<ClassId, FileClassId>,
    /// For classes in which somebody asked for names and opened none.
    names: BTreeMap<ClassId, FileSetId>,
}

impl FileSets {
    /// `place` gives the final place of a task of the timeline.
    pub(super) fn from_rows(
        rows: &LoadedRun,
        line: &Timeline,
        files: &[FileHistory],
        place: &[TaskId],
    ) -> Self {
        let mut sets = Self::default();
        // What else was done with a class by when: the end of an array is when a driver frees it.
        let mut ends: BTreeMap<ClassId, Vec<(f64, usize)>> = BTreeMap::new();
        for file in files {
            let tasks = file.uses.keys().filter_map(FileUser::task);
            ends.entry(file.class).or_default().extend(tasks.map(|at| (line.ran[at].end, at)));
        }
        for ends in ends.values_mut() {
            ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            ends.dedup();
        }
        type Key = (ClassId, Option<usize>, Vec<(FileUser, bool, bool)>);
        let mut known: BTreeMap<Key, FileSetId> = BTreeMap::new();
        let mut directories: BTreeSet<(FileClassId, &[u8])> = BTreeSet::new();
        for file in files {
            let path = &rows.files[file.row].path;
            let class = sets.intern_class(rows, file.class, path);
            let name = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            if directories.insert((class, &path[..name])) {
                sets.classes[class.index()].directories += 1;
            }
            let freed = freed_by(file, line, &ends[&file.class]);
            let users = file.uses.iter().map(|(who, used)| (*who, used.reads, used.writes));
            let key = (file.class, freed, users.collect());
            let until = freed.map_or(DeletionPoint::End, |at| DeletionPoint::Task(place[at]));
            let set = *known.entry(key).or_insert_with(|| sets.add_set(class, 0, until));
            let of_set = &mut sets.files[set.index()];
            of_set.count += 1;
            of_set.bytes += ByteCount(file.bytes);
            for (who, used) in &file.uses {
                let uses = sets.uses.entry((*who, file.class)).or_default();
                let share = uses.entry(set).or_default();
                share.opens += used.opens;
                share.wrote += used.wrote;
                share.read = share.read.saturating_add(used.read.total_bytes());
                let written = used.written.total_bytes();
                share.written = share.written.saturating_add(written);
                let guessed = used.read.guessed.saturating_add(used.written.guessed);
                share.guessed = share.guessed.saturating_add(guessed);
            }
        }
        sets
    }

    /// All classes, each with the names that its files had first, and all sets.
    pub(super) fn into_classes_and_files(
        mut self,
        passing: &PassingNames,
        rows: &LoadedRun,
    ) -> (Vec<FileClass>, Vec<FileSet>) {
        for (class, place) in &self.places {
            self.classes[place.index()].passing_names = passing.of_class(*class, rows);
        }
        (self.classes, self.files)
    }

    /// The share of all bytes that nobody saw.
    pub(super) fn guessed_share(&self) -> f64 {
        let shares = || self.uses.values().flat_map(BTreeMap::values);
        let all: f64 = shares().map(|share| share.read as f64 + share.written as f64).sum();
        let guessed: f64 = shares().map(|share| share.guessed as f64).sum();
        if all > 0.0 { guessed / all } else { 0.0 }
    }

    /// For each set that tasks use, the place of the first of them in the timeline.
    pub(super) fn first_users(&self) -> BTreeMap<FileSetId, usize> {
        let mut first: BTreeMap<FileSetId, usize> = BTreeMap::new();
        for ((who, _), shares) in &self.uses {
            let Some(task) = who.task() else { continue };
            for &set in shares.keys() {
                let known = first.entry(set).or_insert(task);
                *known = task.min(*known);
            }
        }
        first
    }

    fn add_set(&mut self, class: FileClassId, count: u64, until: DeletionPoint) -> FileSetId {
        self.files.push(FileSet { class, count, bytes: ByteCount::ZERO, until });
        FileSetId(self.files.len() as u32 - 1)
    }

    fn intern_class(&mut self, rows: &LoadedRun, class: ClassId, example: &[u8]) -> FileClassId {
        *self.places.entry(class).or_insert_with(|| {
            let pattern = rows.classes.get(&class.0).cloned().unwrap_or_default();
            self.classes.push(FileClass::new(pattern, example.to_vec()));
            FileClassId(self.classes.len() as u32 - 1)
        })
    }

    /// The set that stands for names of a class that were only looked for: it has no file. They are
    /// asked for in place, wherever files of the class live.
    pub(super) fn names_only_set(&mut self, rows: &LoadedRun, class: ClassId) -> FileSetId {
        if let Some(&set) = self.names.get(&class) {
            return set;
        }
        let pattern = rows.classes.get(&class.0).map_or("", String::as_str);
        let example = pattern.replace("**", "x").replace('*', "x").replace('#', "0");
        let place = self.intern_class(rows, class, example.as_bytes());
        let set = self.add_set(place, 0, DeletionPoint::End);
        self.names.insert(class, set);
        set
    }
}

/// After whose end the file is gone: the last of its own users, or, where it stayed for long after
/// that, the last user of its class by then.
fn freed_by(file: &FileHistory, line: &Timeline, class_ends: &[(f64, usize)]) -> Option<usize> {
    const AT_ONCE_SECS: f64 = 2.0;
    let gone = file.gone?;
    // The task that deletes it is still running then.
    let by_user = file
        .uses
        .keys()
        .filter_map(FileUser::task)
        .max_by(|&a, &b| line.ran[a].end.total_cmp(&line.ran[b].end).then(a.cmp(&b)))?;
    if gone <= line.ran[by_user].end + AT_ONCE_SECS.max(line.makespan * 0.01) {
        return Some(by_user);
    }
    let by_then = class_ends.partition_point(|(end, _)| *end <= gone + SLACK);
    class_ends[..by_then].last().map(|&(_, at)| at)
}
