//! What tasks left on other tiers becomes plain files in place when a run ends: that takes time,
//! machines are paid meanwhile, and the storage in place takes the bytes.
//!
//! How long is for the simulator to say (`simulate::write_back_queue`). This is what is sure
//! before: what comes home, how long one who carries it takes alone, and what nothing can be below.

use crate::Choice;
use forebay_model::profile::BandwidthLimits;
use forebay_model::workload::DeletionPoint;
use forebay_model::{
    ByteCount, FileLayout, FileLocation, Op, OpKey, Placement, Rate, Reach, RunEndAction, Seconds,
    Site, StorageProfile, TierId, Workload, WriteBackTrigger,
};

/// What is there in the end of what tasks make, in one pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultFiles {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: ByteCount,
}

/// Results of a workload on a site.
#[derive(Clone, Debug)]
pub struct WriteBackEstimate<'s> {
    site: &'s Site,
    results: Vec<ResultFiles>,
}

impl<'s> WriteBackEstimate<'s> {
    /// Looks for files that tasks write and nobody deletes.
    pub fn new(site: &'s Site, workload: &Workload) -> Self {
        let mut made = vec![false; workload.files.len()];
        let steps = workload.tasks.iter().flat_map(|task| &task.steps);
        for access in steps.flat_map(|step| &step.accesses) {
            made[access.files.index()] |= access.makes_files();
        }
        let mut results = vec![ResultFiles::default(); workload.classes.len()];
        let sets = workload.files.iter().zip(made);
        for (set, _) in sets.filter(|(set, made)| *made && set.until == DeletionPoint::End) {
            let class = &mut results[set.class.index()];
            class.files += set.count;
            class.bytes += set.bytes;
        }
        Self { site, results }
    }

    /// What a class leaves, wherever it is.
    pub fn results(&self, class: usize) -> ResultFiles {
        self.results[class]
    }

    /// What of a class has to come home from this placement.
    pub fn results_to_write_back(
        &self,
        class: usize,
        placement: &Placement,
        project: &TierId,
    ) -> ResultFiles {
        match &placement.home {
            FileLocation::Tier(tier)
                if placement.after == RunEndAction::Restore && tier != project =>
            {
                self.results[class]
            }
            _ => ResultFiles::default(),
        }
    }

    /// How much later all is home at least because of this class, whatever tasks do and whoever
    /// else comes home: one pipeline's results leave after its last task. The least times of all
    /// classes may be added up.
    pub fn minimum_write_back_time(
        &self,
        class: usize,
        placement: &Placement,
        project: &TierId,
        nodes: u32,
    ) -> Seconds {
        let comes = self.results_to_write_back(class, placement, project);
        let FileLocation::Tier(from) = &placement.home else { return Seconds::ZERO };
        let ends = self.site.tier(from).zip(self.site.tier(project));
        let Some((from, to)) = ends else { return Seconds::ZERO };
        let Some((read, write)) = from.profile.as_ref().zip(to.profile.as_ref()) else {
            return Seconds::ZERO;
        };
        if comes.files == 0 || placement.drain == WriteBackTrigger::Closed {
            return Seconds::ZERO;
        }
        let (bytes, nodes) = (comes.bytes.get() as f64, f64::from(nodes));
        let (into, all) =
            (node_rate_limit(write.write, to.reach), shared_rate_limit(write.write, to.reach));
        if into * nodes > all {
            // All of them can be too much for the storage in place: only that sum is sure.
            return Seconds(bytes / all);
        }
        let rate = node_rate_limit(read.read, from.reach).min(into);
        let byte = if rate.is_finite() { 1.0 / rate } else { 0.0 };
        // What Forebay asks besides only makes it longer.
        let way = WriteBackMethod::for_placement(placement.layout, to.reach, false);
        let load = WriteBackLoad { bytes, files: comes.files, waiting: u64::MAX, one_by_one: 0.0 };
        Seconds(way.uncontended_seconds(load, byte, Some(write)) / nodes)
    }

    /// What comes home of all classes and pipelines.
    pub fn total_to_write_back(&self, choice: &Choice) -> ResultFiles {
        let mut all = ResultFiles::default();
        for (class, placement) in choice.placements.iter().enumerate() {
            let comes = self.results_to_write_back(class, placement, &choice.project);
            all.files += comes.files * u64::from(choice.pipelines);
            all.bytes += ByteCount(comes.bytes.get() * u64::from(choice.pipelines));
        }
        all
    }
}

/// How files come home: what each asks of the storage there, beside its bytes, and how many come at
/// a time (`tiers::write_back` of the volume).
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBackMethod {
    asks: &'static [(Op, f64)],
    /// Of these, what others in the same directory wait for: the kernel holds a directory while a name
    /// is made in it (Documentation/filesystems/directory-locking.rst).
    in_directory: &'static [(Op, f64)],
    at_once: u64,
}

/// Files that come home together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBackLoad {
    /// Their bytes.
    pub(crate) bytes: f64,
    /// How many they are.
    pub(crate) files: u64,
    /// How many wait to come with them at least, they included.
    pub(crate) waiting: u64,
    /// For how many of them, in the mean, those in the same directory make all others wait.
    pub(crate) one_by_one: f64,
}

/// A link is read, a copy is made beside it, gets its time, is closed, and takes the link's name.
const PLAIN: &[(Op, f64)] = &[
    (Op::Readlink, 1.0),
    (Op::Getattr, 1.0),
    (Op::Create, 1.0),
    (Op::Setattr, 1.0),
    (Op::Flush, 1.0),
    (Op::Close, 1.0),
    (Op::Rename, 1.0),
];
/// What was counted at the server of an emulated storage while plain files came home. Where the link
/// leads is known there still; whether the copy's name is free, and the attributes of link, copy and
/// directory, are asked.
const PLAIN_BY_FOREBAY: &[(Op, f64)] = &[
    (Op::Lookup, 2.0),
    (Op::Getattr, 2.55),
    (Op::Create, 1.0),
    (Op::Setattr, 1.0),
    (Op::Flush, 1.0),
    (Op::Close, 1.0),
    (Op::Rename, 1.0),
];
/// Those of them that make or replace a name, and the attributes of the directory: told from what the
/// kernel locks and from packed files, not measured by themselves.
const PLAIN_IN_DIRECTORY: &[(Op, f64)] =
    &[(Op::Lookup, 2.0), (Op::Getattr, 1.8), (Op::Create, 1.0), (Op::Rename, 1.0)];
/// The same of a whole folder, whose files get their links only then.
const WHOLE_BY_FOREBAY: &[(Op, f64)] = &[
    (Op::Symlink, 1.0),
    (Op::Lookup, 2.0),
    (Op::Getattr, 2.55),
    (Op::Create, 1.0),
    (Op::Setattr, 1.0),
    (Op::Flush, 1.0),
    (Op::Close, 1.0),
    (Op::Rename, 1.0),
];
/// As of plain files, not measured by themselves either.
const WHOLE_IN_DIRECTORY: &[(Op, f64)] = &[
    (Op::Symlink, 1.0),
    (Op::Lookup, 2.0),
    (Op::Getattr, 1.8),
    (Op::Create, 1.0),
    (Op::Rename, 1.0),
];
/// A file without a name is made, gets its time, is closed, and gets its name.
const PACKED: &[(Op, f64)] =
    &[(Op::Create, 1.0), (Op::Setattr, 1.0), (Op::Flush, 1.0), (Op::Close, 1.0), (Op::Link, 1.0)];
/// What was counted at the server of an emulated storage while packed files came home: whether the
/// name is free, and the attributes of the directory and of the file, are asked, too.
const PACKED_BY_FOREBAY: &[(Op, f64)] = &[
    (Op::Create, 1.0),
    (Op::Setattr, 1.0),
    (Op::Flush, 1.0),
    (Op::Close, 1.0),
    (Op::Link, 1.0),
    (Op::Lookup, 1.0),
    (Op::Getattr, 2.65),
];
/// As measured at that storage, where 28 files came home to one directory, 38 ms each at 10 ms for a
/// name.
const PACKED_IN_DIRECTORY: &[(Op, f64)] = &[(Op::Lookup, 1.0), (Op::Link, 1.0), (Op::Getattr, 1.8)];

impl WriteBackMethod {
    /// The way of files that lie so to a storage with this reach, `by_forebay` or by somebody of
    /// whom no more is known than what it takes at least.
    pub(crate) fn for_placement(
        layout: FileLayout,
        to: Reach,
        by_forebay: bool,
    ) -> WriteBackMethod {
        let at_once = if !layout.is_packed() && to == Reach::Node { 4 } else { 16 };
        let (asks, in_directory) = match (layout, by_forebay) {
            (FileLayout::Packed | FileLayout::Apart, true) => {
                (PACKED_BY_FOREBAY, PACKED_IN_DIRECTORY)
            }
            (FileLayout::Packed | FileLayout::Apart, false) => (PACKED, [].as_slice()),
            (FileLayout::Whole, true) => (WHOLE_BY_FOREBAY, WHOLE_IN_DIRECTORY),
            (FileLayout::Plain, true) => (PLAIN_BY_FOREBAY, PLAIN_IN_DIRECTORY),
            (FileLayout::Plain | FileLayout::Whole, false) => (PLAIN, [].as_slice()),
        };
        WriteBackMethod { asks, in_directory, at_once }
    }

    /// Operations on names for so many files.
    pub(crate) fn metadata_operations(self, files: u64) -> f64 {
        files as f64 * self.asks.iter().map(|(_, times)| times).sum::<f64>()
    }

    /// Seconds that files take with nobody else there, at so many for a byte: where many wait, their
    /// share of what all of them take.
    pub(crate) fn uncontended_seconds(
        self,
        load: WriteBackLoad,
        byte: f64,
        to: Option<&StorageProfile>,
    ) -> f64 {
        let takes = |asks: &[(Op, f64)]| -> f64 {
            let price = |(op, times): &(Op, f64)| {
                to.map_or(0.0, |to| to.operation_latency(OpKey::without_bytes(*op)).get() * times)
            };
            asks.iter().map(price).sum()
        };
        let files = load.files as f64;
        let at_once = |waiting: u64| self.at_once.min(waiting.max(1)) as f64;
        let side_by_side = files * takes(self.asks) / at_once(load.files.max(load.waiting));
        let one_by_one = load.one_by_one * takes(self.in_directory);
        load.bytes * byte / at_once(load.files) + side_by_side.max(one_by_one)
    }
}

/// What one node gets, with one stream.
fn node_rate_limit(lane: BandwidthLimits, reach: Reach) -> f64 {
    let own = if reach == Reach::Node { rate_or_infinite(lane.total) } else { f64::INFINITY };
    rate_or_infinite(lane.node).min(rate_or_infinite(lane.stream)).min(own)
}

/// What all nodes get together.
fn shared_rate_limit(lane: BandwidthLimits, reach: Reach) -> f64 {
    if reach == Reach::Node { f64::INFINITY } else { rate_or_infinite(lane.total) }
}

fn rate_or_infinite(rate: Option<Rate>) -> f64 {
    rate.map_or(f64::INFINITY, Rate::get)
}
