//! Open files added up: by task, by tree, by file.

use super::{Amount, FileSummary};
use crate::run::OpenRow;
use crate::{ByteCount, File, FileId, Result, Run, TreeId};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Bytes of some opens, and of how many different files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) read: Amount,
    pub(super) written: Amount,
    pub(super) files: u64,
}

/// Bytes while they are added up: exact as long as nothing is hidden.
#[derive(Clone, Copy, Debug, Default)]
struct Adding {
    at_least: u64,
    hidden: bool,
}

impl Adding {
    fn amount(self) -> Amount {
        let at_least = ByteCount(self.at_least);
        Amount { seen: (!self.hidden).then_some(at_least), at_least, at_most: None }
    }

    fn add(&mut self, seen: Option<u64>, grown: u64) {
        self.at_least += seen.unwrap_or(grown);
        self.hidden |= seen.is_none();
    }
}

#[derive(Clone, Debug, Default)]
struct OfFile {
    opens: u64,
    tasks: BTreeSet<u32>,
    size: Option<ByteCount>,
    read: Adding,
    /// The part that was read from copies on tiers; `None`: the other part.
    sources: HashMap<Option<TreeId>, Adding>,
    written: Adding,
    created: bool,
    /// Hidden reads, at the size of the file each: only to rank files by.
    maybe_read: u64,
}

/// All open files of a run, added up.
#[derive(Debug, Default)]
pub(super) struct Opened {
    by_task: HashMap<Option<u32>, (Adding, Adding, HashSet<FileId>)>,
    by_file: HashMap<FileId, OfFile>,
    /// Some bytes went past Forebay.
    pub(super) hidden: bool,
    places: HashMap<FileId, File>,
}

/// A file that was read, for advice.
#[derive(Clone, Debug)]
pub(crate) struct FileUse {
    pub(crate) path: String,
    pub(crate) tasks: u64,
    pub(crate) size: ByteCount,
    pub(crate) read: ByteCount,
    pub(crate) class: u32,
    pub(crate) created: bool,
}

impl Opened {
    pub(super) fn of(run: &Run) -> Result<Self> {
        let places = run.files()?.into_iter().map(|file| (file.id, file)).collect();
        let mut all = Self { places, ..Self::default() };
        run.each_open(|row| all.add(&row))?;
        Ok(all)
    }

    fn add(&mut self, row: &OpenRow) {
        let open = &row.open;
        self.hidden |= open.hidden;
        // An open that was not hidden and has no count moved nothing that way.
        let seen = |io: Option<crate::Io>| match io {
            Some(io) => Some(io.bytes.0),
            None if open.hidden => None,
            None => Some(0),
        };
        let read = seen(open.read);
        let written = if open.write { seen(open.wrote) } else { Some(0) };
        let before = open.size_at_open.unwrap_or_default();
        let grown = match open.size_at_close {
            Some(after) if open.write => (after - before).0,
            _ => 0,
        };
        let (reads, writes, files) = self.by_task.entry(row.task).or_default();
        reads.add(read, 0);
        writes.add(written, grown);
        files.insert(open.file);
        let file = self.by_file.entry(open.file).or_default();
        file.opens += 1;
        file.tasks.extend(row.task);
        file.size = open.size_at_close.or(open.size_at_open).or(file.size);
        file.read.add(read, 0);
        file.sources.entry(open.copy).or_default().add(read, 0);
        file.written.add(written, grown);
        file.created |= open.created;
        if read.is_none() {
            file.maybe_read += before.0;
        }
    }

    pub(super) fn of_tasks(&self, tasks: impl Iterator<Item = u32>) -> Sum {
        let (mut read, mut written, mut files) =
            (Adding::default(), Adding::default(), HashSet::<FileId>::new());
        for (r, w, f) in tasks.filter_map(|task| self.by_task.get(&Some(task))) {
            read.add((!r.hidden).then_some(r.at_least), r.at_least);
            written.add((!w.hidden).then_some(w.at_least), w.at_least);
            files.extend(f);
        }
        Sum { read: read.amount(), written: written.amount(), files: files.len() as u64 }
    }

    pub(super) fn of_tree(&self, tree: TreeId) -> Sum {
        let mut sum = (Adding::default(), Adding::default(), 0);
        for (id, file) in &self.by_file {
            let place = self.places.get(id);
            let lives = place.is_some_and(|place| place.home.unwrap_or(place.tree) == tree);
            let source = file.sources.get(&(!lives).then_some(tree));
            if let Some(read) = source {
                sum.0.add((!read.hidden).then_some(read.at_least), read.at_least);
            }
            if lives {
                let written = file.written;
                sum.1.add((!written.hidden).then_some(written.at_least), written.at_least);
            }
            sum.2 += u64::from(lives || source.is_some());
        }
        Sum { read: sum.0.amount(), written: sum.1.amount(), files: sum.2 }
    }

    /// Bytes that are known of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.by_file.values().map(|f| f.read.at_least + f.written.at_least).sum()
    }

    /// How many different files of each class were opened.
    pub(super) fn files_by_class(&self) -> HashMap<u32, u64> {
        let mut counts = HashMap::new();
        for place in self.by_file.keys().filter_map(|id| self.places.get(id)) {
            *counts.entry(place.class.0).or_default() += 1;
        }
        counts
    }

    /// The files that most bytes were moved for.
    pub(super) fn costliest(&self, count: usize) -> Vec<FileSummary> {
        let bytes = |f: &OfFile| f.read.at_least + f.written.at_least + f.maybe_read;
        let mut files: Vec<_> = self.by_file.iter().filter(|(_, file)| bytes(file) > 0).collect();
        files.sort_by_key(|(id, file)| (std::cmp::Reverse(bytes(file)), **id));
        files
            .into_iter()
            .take(count)
            .map(|(id, file)| FileSummary {
                path: self.path(*id),
                opens: file.opens,
                tasks: file.tasks.len() as u64,
                size: file.size,
                read: file.read.amount(),
                written: file.written.amount(),
            })
            .collect()
    }

    /// All files, for advice; in the order of their numbers.
    pub(super) fn uses(&self) -> Vec<FileUse> {
        let mut ids: Vec<&FileId> = self.by_file.keys().collect();
        ids.sort();
        ids.into_iter()
            .map(|id| {
                let file = &self.by_file[id];
                FileUse {
                    path: self.path(*id),
                    tasks: file.tasks.len() as u64,
                    size: file.size.unwrap_or_default(),
                    read: ByteCount(file.read.at_least + file.maybe_read),
                    class: self.places.get(id).map_or(u32::MAX, |place| place.class.0),
                    created: file.created,
                }
            })
            .collect()
    }

    fn path(&self, id: FileId) -> String {
        let path = self.places.get(&id).map(|place| place.path.as_slice()).unwrap_or_default();
        String::from_utf8_lossy(path).into_owned()
    }
}
