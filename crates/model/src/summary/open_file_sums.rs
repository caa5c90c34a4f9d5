//! Open files added up: by task, by tree, by file.

use super::{ByteBounds, FileSummary};
use crate::run::{OpRow, OpenRow};
use crate::{ByteCount, FileId, FileRecord, Op, Result, Run, TreeId};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Bytes of some opens, and of how many different files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IoTotals {
    pub(super) read: ByteBounds,
    pub(super) written: ByteBounds,
    pub(super) files: u64,
}

/// Bytes while they are added up: exact as long as nothing is hidden.
#[derive(Clone, Copy, Debug, Default)]
struct ByteAccumulator {
    at_least: u64,
    hidden: bool,
}

impl ByteAccumulator {
    fn to_amount(self) -> ByteBounds {
        let at_least = ByteCount(self.at_least);
        ByteBounds { seen: (!self.hidden).then_some(at_least), at_least, at_most: None }
    }

    fn add_bytes(&mut self, seen: Option<u64>, grown: u64) {
        self.at_least += seen.unwrap_or(grown);
        self.hidden |= seen.is_none();
    }

    /// Operations moved so much, whatever opens say.
    fn with_counted_minimum(mut self, counted: u64) -> Self {
        self.at_least = self.at_least.max(if self.hidden { counted } else { 0 });
        self
    }
}

/// Bytes that operations moved: what is sure where no open says how many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OperationBytes {
    read: u64,
    written: u64,
}

impl OperationBytes {
    pub(super) fn from_operations<'o>(ops: impl Iterator<Item = &'o OpRow>) -> Self {
        let mut counted = Self::default();
        ops.for_each(|row| counted.add_operation(row));
        counted
    }

    fn add_operation(&mut self, row: &OpRow) {
        match row.kind.op() {
            Some(Op::Read) => self.read += row.bytes.0,
            Some(Op::Write) => self.written += row.bytes.0,
            _ => {}
        }
    }
}

#[derive(Clone, Debug, Default)]
struct FileSums {
    opens: u64,
    tasks: BTreeSet<u32>,
    size: Option<ByteCount>,
    read: ByteAccumulator,
    /// The part that was read from copies on tiers; `None`: the other part.
    sources: HashMap<Option<TreeId>, ByteAccumulator>,
    written: ByteAccumulator,
    created: bool,
    /// Hidden reads, at the size of the file each: only to rank files by.
    maybe_read: u64,
}

/// All open files of a run, added up.
#[derive(Debug, Default)]
pub(super) struct OpenFileSums {
    by_task: HashMap<Option<u32>, (ByteAccumulator, ByteAccumulator, HashSet<FileId>)>,
    /// The part of it that went to and from tiers.
    by_task_on_tier: BTreeMap<(u32, TreeId), (ByteAccumulator, ByteAccumulator)>,
    tiers: HashSet<TreeId>,
    by_file: HashMap<FileId, FileSums>,
    /// Some bytes went past Forebay.
    pub(super) hidden: bool,
    places: HashMap<FileId, FileRecord>,
    /// What operations moved, by class.
    counted: HashMap<u32, OperationBytes>,
}

/// A file that was read, for advice.
#[derive(Clone, Debug)]
pub(crate) struct FileUse {
    pub(crate) path: String,
    pub(crate) tasks: u64,
    /// `None`: nobody saw it.
    pub(crate) size: Option<ByteCount>,
    pub(crate) read: ByteCount,
    pub(crate) class: u32,
    pub(crate) created: bool,
}

impl OpenFileSums {
    pub(super) fn from_run(run: &Run, ops: &[OpRow]) -> Result<Self> {
        let places = run.files()?.into_iter().map(|file| (file.id, file)).collect();
        let tiers = run.trees()?.into_iter().filter(|tree| tree.tier.is_some());
        let tiers = tiers.map(|tree| tree.id).collect();
        let mut all = Self { places, tiers, ..Self::default() };
        for row in ops {
            all.counted.entry(row.class.0).or_default().add_operation(row);
        }
        run.for_each_open(|row| all.add_open(&row))?;
        Ok(all)
    }

    fn add_open(&mut self, row: &OpenRow) {
        let open = &row.open;
        self.hidden |= open.hidden;
        // No count is "not seen", whether the bytes went past Forebay or came from a page cache.
        let read = open.read.map(|io| io.bytes.0);
        let written = if open.write { open.wrote.map(|io| io.bytes.0) } else { Some(0) };
        let before = open.size_at_open.unwrap_or_default();
        let grown = match open.size_at_close {
            Some(after) if open.write => (after - before).0,
            _ => 0,
        };
        let (reads, writes, files) = self.by_task.entry(row.task).or_default();
        reads.add_bytes(read, 0);
        writes.add_bytes(written, grown);
        files.insert(open.file);
        self.add_tier_bytes(row, read, (written, grown));
        let file = self.by_file.entry(open.file).or_default();
        file.opens += 1;
        file.tasks.extend(row.task);
        file.size = open.size_at_close.or(open.size_at_open).or(file.size);
        file.read.add_bytes(read, 0);
        file.sources.entry(open.copy).or_default().add_bytes(read, 0);
        file.written.add_bytes(written, grown);
        file.created |= open.created;
        if read.is_none() {
            file.maybe_read += before.0;
        }
    }

    /// `written`: what was seen, and by how much the file grew.
    fn add_tier_bytes(&mut self, row: &OpenRow, read: Option<u64>, written: (Option<u64>, u64)) {
        let Some(task) = row.task.filter(|_| !self.tiers.is_empty()) else { return };
        let place = self.places.get(&row.open.file);
        let lives = place.map(|place| place.home.unwrap_or(place.tree));
        let on_tier = |tree: Option<TreeId>| tree.filter(|tree| self.tiers.contains(tree));
        if let Some(from) = on_tier(row.open.copy.or(lives)) {
            self.by_task_on_tier.entry((task, from)).or_default().0.add_bytes(read, 0);
        }
        if let Some(to) = on_tier(lives) {
            let (seen, grown) = written;
            self.by_task_on_tier.entry((task, to)).or_default().1.add_bytes(seen, grown);
        }
    }

    /// What a task read from and wrote to a tier's directory.
    pub(super) fn sum_of_task_on_tier(
        &self,
        task: u32,
        tree: TreeId,
        counted: OperationBytes,
    ) -> (ByteBounds, ByteBounds) {
        let (read, written) = self.by_task_on_tier.get(&(task, tree)).copied().unwrap_or_default();
        (
            read.with_counted_minimum(counted.read).to_amount(),
            written.with_counted_minimum(counted.written).to_amount(),
        )
    }

    pub(super) fn sum_of_tasks(
        &self,
        tasks: impl Iterator<Item = u32>,
        counted: OperationBytes,
    ) -> IoTotals {
        let (mut read, mut written, mut files) =
            (ByteAccumulator::default(), ByteAccumulator::default(), HashSet::<FileId>::new());
        for (r, w, f) in tasks.filter_map(|task| self.by_task.get(&Some(task))) {
            read.add_bytes((!r.hidden).then_some(r.at_least), r.at_least);
            written.add_bytes((!w.hidden).then_some(w.at_least), w.at_least);
            files.extend(f);
        }
        let (read, written) = (
            read.with_counted_minimum(counted.read),
            written.with_counted_minimum(counted.written),
        );
        IoTotals { read: read.to_amount(), written: written.to_amount(), files: files.len() as u64 }
    }

    pub(super) fn sum_of_tree(&self, tree: TreeId, counted: OperationBytes) -> IoTotals {
        let mut sum = (ByteAccumulator::default(), ByteAccumulator::default(), 0);
        for (id, file) in &self.by_file {
            let place = self.places.get(id);
            let lives = place.is_some_and(|place| place.home.unwrap_or(place.tree) == tree);
            let source = file.sources.get(&(!lives).then_some(tree));
            if let Some(read) = source {
                sum.0.add_bytes((!read.hidden).then_some(read.at_least), read.at_least);
            }
            if lives {
                let written = file.written;
                sum.1.add_bytes((!written.hidden).then_some(written.at_least), written.at_least);
            }
            sum.2 += u64::from(lives || source.is_some());
        }
        let (read, written) =
            (sum.0.with_counted_minimum(counted.read), sum.1.with_counted_minimum(counted.written));
        IoTotals { read: read.to_amount(), written: written.to_amount(), files: sum.2 }
    }

    /// Bytes that are known of all files.
    pub(super) fn known_bytes(&self) -> u64 {
        let by_opens: u64 =
            self.by_file.values().map(|f| f.read.at_least + f.written.at_least).sum();
        by_opens.max(self.counted.values().map(|counted| counted.read + counted.written).sum())
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
    pub(super) fn costliest_files(&self, count: usize) -> Vec<FileSummary> {
        let bytes = |f: &FileSums| f.read.at_least + f.written.at_least + f.maybe_read;
        let mut files: Vec<_> = self.by_file.iter().filter(|(_, file)| bytes(file) > 0).collect();
        files.sort_by_key(|(id, file)| (std::cmp::Reverse(bytes(file)), **id));
        let of_class = self.files_by_class();
        // Of the only file of its class, operations say what opens do not.
        let counted = |id: &FileId| {
            let class = self.places.get(id).map(|place| place.class.0);
            let class = class.filter(|class| of_class.get(class) == Some(&1));
            class.and_then(|class| self.counted.get(&class).copied()).unwrap_or_default()
        };
        files
            .into_iter()
            .take(count)
            .map(|(id, file)| FileSummary {
                path: self.file_path(*id),
                opens: file.opens,
                tasks: file.tasks.len() as u64,
                size: file.size,
                read: file.read.with_counted_minimum(counted(id).read).to_amount(),
                written: file.written.with_counted_minimum(counted(id).written).to_amount(),
            })
            .collect()
    }

    /// All files, for advice; in the order of their numbers.
    pub(super) fn file_uses(&self) -> Vec<FileUse> {
        let mut ids: Vec<&FileId> = self.by_file.keys().collect();
        ids.sort();
        ids.into_iter()
            .map(|id| {
                let file = &self.by_file[id];
                FileUse {
                    path: self.file_path(*id),
                    tasks: file.tasks.len() as u64,
                    // Of a simulated file only what was written to it is known.
                    size: file.size.or_else(|| {
                        let whole = file.created && !file.written.hidden;
                        whole.then_some(ByteCount(file.written.at_least))
                    }),
                    read: ByteCount(file.read.at_least + file.maybe_read),
                    class: self.places.get(id).map_or(u32::MAX, |place| place.class.0),
                    created: file.created,
                }
            })
            .collect()
    }

    fn file_path(&self, id: FileId) -> String {
        let path = self.places.get(&id).map(|place| place.path.as_slice()).unwrap_or_default();
        String::from_utf8_lossy(path).into_owned()
    }
}
