//! All open files of a run, added up in one pass: by task and file, by file, and over time.

use std::collections::HashMap;

use forebay_model::{ClassId, DirectoryTree, FileId, FileRecord, Micros, Result, Run, TreeId};

use super::open_summary::{self, OpenSummary};
use crate::commands::report::bins::{BinnedAmounts, TimeBins};

/// What one task did with one file.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commands::report) struct TaskFileTotals {
    pub(in crate::commands::report) opens: u64,
    pub(in crate::commands::report) calls: u64,
    /// Bytes read, as far as they were seen.
    pub(in crate::commands::report) read: u64,
    /// Bytes written, or by how much it grew.
    pub(in crate::commands::report) written: u64,
    /// Of some reads nobody saw how much.
    pub(in crate::commands::report) read_hidden: bool,
    /// Of some writes nobody saw how much.
    pub(in crate::commands::report) write_hidden: bool,
    /// Bytes came from it, or may have.
    pub(in crate::commands::report) reads: bool,
    pub(in crate::commands::report) wrote: bool,
}

impl TaskFileTotals {
    /// What the task had to do with the file, for shares of a time that is known of all.
    pub(in crate::commands::report) fn weight(&self) -> f64 {
        (self.opens + self.calls) as f64
    }
}

/// One file.
#[derive(Clone, Debug, Default)]
pub(in crate::commands::report) struct FileTotals {
    pub(in crate::commands::report) opens: u64,
    /// The run made it.
    pub(in crate::commands::report) created: bool,
    /// When it was last seen; `None`: never.
    pub(in crate::commands::report) size: Option<u64>,
    pub(in crate::commands::report) read: u64,
    pub(in crate::commands::report) written: u64,
    pub(in crate::commands::report) read_hidden: bool,
    pub(in crate::commands::report) write_hidden: bool,
    /// When it had which size, for files that were written.
    pub(in crate::commands::report) sizes: Vec<(Micros, u64)>,
    /// All that was written to it, for files whose size nobody tells.
    sent: u64,
}

/// All of them.
#[derive(Debug)]
pub(in crate::commands::report) struct OpenTotals {
    /// By task and file, in this order.
    pub(in crate::commands::report) pairs: Vec<((Option<u32>, FileId), TaskFileTotals)>,
    /// In the order of their numbers.
    pub(in crate::commands::report) files: Vec<(FileId, FileTotals)>,
    /// Bytes read, by tree, as `trees` has them.
    pub(in crate::commands::report) read: Vec<BinnedAmounts>,
    pub(in crate::commands::report) written: Vec<BinnedAmounts>,
    /// Opens of small files, and those that made one.
    pub(in crate::commands::report) small: (BinnedAmounts, BinnedAmounts),
    /// Opens of whose reads or writes nobody saw how much.
    pub(in crate::commands::report) hidden: u64,
    pub(in crate::commands::report) opens: u64,
}

impl OpenTotals {
    pub(super) fn from_run(
        run: &Run,
        files: &[FileRecord],
        trees: &[DirectoryTree],
        bins: TimeBins,
    ) -> Result<Self> {
        let at: HashMap<TreeId, usize> =
            trees.iter().enumerate().map(|(at, tree)| (tree.id, at)).collect();
        let empty = || vec![BinnedAmounts::new(bins); trees.len()];
        let mut all = Self {
            pairs: Vec::new(),
            files: Vec::new(),
            read: empty(),
            written: empty(),
            small: (BinnedAmounts::new(bins), BinnedAmounts::new(bins)),
            hidden: 0,
            opens: 0,
        };
        let mut pairs: HashMap<(Option<u32>, FileId), TaskFileTotals> = HashMap::new();
        let mut by_file: HashMap<FileId, FileTotals> = HashMap::new();
        run.for_each_open(|row| {
            let one = open_summary::summarize_open(&row.open);
            let file = files.binary_search_by_key(&row.open.file, |file| file.id);
            let lives = file.ok().map(|place| files[place].home.unwrap_or(files[place].tree));
            all.add_over_time(&one, row.open.copy.or(lives), lives, &at);
            add_to_pair(pairs.entry((row.task, row.open.file)).or_default(), &one);
            add_to_file(by_file.entry(row.open.file).or_default(), &one);
        })?;
        all.pairs = pairs.into_iter().collect();
        all.pairs.sort_unstable_by_key(|(key, _)| *key);
        all.files = by_file.into_iter().collect();
        all.files.sort_unstable_by_key(|(id, _)| *id);
        Ok(all)
    }

    fn add_over_time(
        &mut self,
        one: &OpenSummary,
        from: Option<TreeId>,
        to: Option<TreeId>,
        at: &HashMap<TreeId, usize>,
    ) {
        self.opens += 1;
        self.hidden += u64::from(one.read_hidden || one.write_hidden);
        let place = |tree: Option<TreeId>| tree.and_then(|tree| at.get(&tree).copied());
        if let Some(from) = place(from) {
            self.read[from].add_evenly(one.from, one.to, one.read as f64);
        }
        if let Some(to) = place(to) {
            self.written[to].add_evenly(one.from, one.to, one.written as f64);
        }
        if one.size.is_some_and(|size| size <= super::SMALL) {
            self.small.0.add_evenly(one.from, one.from, 1.0);
            self.small.1.add_evenly(one.from, one.from, f64::from(u8::from(one.created)));
        }
    }

    /// One file, if it was opened.
    pub(in crate::commands::report) fn file_by_id(&self, id: FileId) -> Option<&FileTotals> {
        self.files.binary_search_by_key(&id, |(id, _)| *id).ok().map(|at| &self.files[at].1)
    }

    /// What one task did, by file.
    pub(in crate::commands::report) fn pairs_of_task(
        &self,
        task: u32,
    ) -> &[((Option<u32>, FileId), TaskFileTotals)] {
        let before = self.pairs.partition_point(|((of, _), _)| *of < Some(task));
        let rest = &self.pairs[before..];
        &rest[..rest.partition_point(|((of, _), _)| *of == Some(task))]
    }

    /// Bytes read and written by task name and class: those of all pairs, given how to name them.
    pub(in crate::commands::report) fn pairs_with_class(
        &self,
        class: impl Fn(FileId) -> Option<ClassId>,
    ) -> impl Iterator<Item = (Option<u32>, Option<ClassId>, FileId, &TaskFileTotals)> {
        self.pairs.iter().map(move |((task, file), pair)| (*task, class(*file), *file, pair))
    }
}

fn add_to_pair(pair: &mut TaskFileTotals, one: &OpenSummary) {
    pair.opens += 1;
    pair.calls += one.calls;
    pair.read += one.read;
    pair.written += one.written;
    pair.read_hidden |= one.read_hidden;
    pair.write_hidden |= one.write_hidden;
    pair.reads |= one.reads;
    pair.wrote |= one.writes;
}

fn add_to_file(file: &mut FileTotals, one: &OpenSummary) {
    file.opens += 1;
    file.created |= one.created;
    file.read += one.read;
    file.written += one.written;
    file.read_hidden |= one.read_hidden;
    file.write_hidden |= one.write_hidden;
    file.sent += one.written;
    // Simulated files have no size but what was written to them.
    let size = one.size.or((file.created && file.sent > 0).then_some(file.sent));
    file.size = size.or(file.size);
    if let Some(size) = size.filter(|_| one.write) {
        file.sizes.push((one.to, size));
    }
}
