//! What one step costs on the tiers where its files are: seconds with nobody else there, and what
//! it asks of limits that all share.

use super::own_cost::{
    ForebayOverhead, OF_IN_PLACE, OF_PACKED_DIRECTORY, OF_TIERED, is_asked_once,
};
use super::tier_storages::{DATA, LANES, NAMES, READ, WORK, WRITE};
use super::{ClassLocation, PreparedProblem};
use forebay_model::event::Op;
use forebay_model::workload::FileSetAccess;
use forebay_model::{FileLayout, OpGroup, OpKey};

/// A step while it is added up.
#[derive(Clone, Debug)]
pub(crate) struct StepCost {
    /// Seconds with nobody else there.
    pub(crate) alone: f64,
    /// Of these, those in which it computes.
    pub(crate) compute: f64,
    /// For each lane of each storage, bytes or operations.
    pub(crate) asks: Vec<f64>,
    /// What Forebay costs, if it is in between.
    pub(crate) own: Option<ForebayOverhead>,
    /// Answers of the storage in place count for a second.
    pub(crate) asks_once: bool,
    /// Some files are packed, so that directories may get packed names.
    pub(crate) packs_files: bool,
}

/// The rates of one stream, and whether limits matter, for each lane of each storage.
#[derive(Clone, Debug)]
pub(crate) struct ResourceRates {
    /// Seconds for a byte, of one stream that is alone.
    byte: Vec<f64>,
    /// There is a limit.
    pub(crate) limited: Vec<bool>,
}

impl ResourceRates {
    pub(crate) fn for_scene(scene: &PreparedProblem<'_>) -> Self {
        let (mut byte, mut limited) = (Vec::new(), Vec::new());
        for storage in &scene.storages {
            for (lane, limit) in storage.lane_limits().into_iter().enumerate() {
                let whole = limit.total.min(limit.node);
                limited.push(whole.is_finite());
                byte.push(match (lane, storage.profile) {
                    (READ | WRITE, Some(profile)) => {
                        let lane = if lane == READ { profile.read } else { profile.write };
                        // One file has only the servers that it is spread over.
                        let spread =
                            f64::from(profile.stripes.count) / f64::from(profile.stripes.servers);
                        let file = limit.node.min(limit.total * spread);
                        1.0 / lane.stream.map_or(file, |rate| rate.get().min(file))
                    }
                    // Operations have prices.
                    _ => 0.0,
                });
            }
        }
        Self { byte, limited }
    }

    /// Seconds for a byte of a copy, of lanes that begin there.
    pub(crate) fn copy_seconds_per_byte(&self, from: usize, to: usize) -> f64 {
        self.byte[from + READ].max(self.byte[to + WRITE])
    }
}

/// What an operation is about, of a file that lives elsewhere: a plain one is a link in place to its
/// body there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperationTarget {
    /// The body, or the name in the log.
    File,
    /// The link in place.
    Link,
    /// Both.
    Both,
}

fn operation_target(op: Op, packed: bool) -> OperationTarget {
    match op {
        // Directories, links and special files are always in place, and so is the answer to
        // whether anything else has a name.
        Op::LookupFailed | Op::Mkdir | Op::Rmdir | Op::Opendir | Op::Readdir | Op::Fsyncdir => {
            OperationTarget::Link
        }
        Op::Symlink | Op::Readlink | Op::Mknod | Op::Statfs => OperationTarget::Link,
        _ if packed => OperationTarget::File,
        Op::Rename | Op::Link => OperationTarget::Link,
        Op::Lookup | Op::Create | Op::Unlink => OperationTarget::Both,
        _ => OperationTarget::File,
    }
}

/// Which part of so many bytes read of files of so many bytes the memory of a node answers to an
/// access that finds nothing there: what it read before, and what it wrote itself.
pub(crate) fn cached_read_share(read: u64, written: u64, bytes: u64) -> f64 {
    let fetched = bytes.saturating_sub(written).min(read);
    if read == 0 { 0.0 } else { 1.0 - fetched as f64 / read as f64 }
}

/// As which part of an operation one of these counts, where short ones merge.
fn merged_operation_share(
    scene: &PreparedProblem<'_>,
    storage: usize,
    access: &FileSetAccess,
    key: OpKey,
) -> f64 {
    let profile = scene.storages[storage].profile.filter(|profile| profile.merges.is_some());
    let Some(profile) = profile else { return 1.0 };
    // What is copied from file to file is written, too.
    let (alike, bytes): (&[Op], _) = match key.op() {
        Op::Read => (&[Op::Read], access.read),
        Op::Write | Op::CopyRange => (&[Op::Write, Op::CopyRange], access.written),
        _ => return 1.0,
    };
    let alike = access.ops.iter().filter(|(other, _)| alike.contains(&other.op()));
    let count: f64 = alike.map(|(_, count)| count).sum();
    profile.operation_share(key, bytes.get() as f64 / count)
}

impl StepCost {
    pub(crate) fn new(scene: &PreparedProblem<'_>) -> Self {
        let asks = vec![0.0; scene.storages.len() * LANES];
        Self { alone: 0.0, compute: 0.0, asks, own: None, asks_once: false, packs_files: false }
    }

    /// Makes it a step that computes so long and does nothing else.
    pub(crate) fn reset_to_compute(&mut self, compute: f64) {
        self.alone = compute;
        self.compute = compute;
        self.asks.fill(0.0);
    }

    /// Adds a part of an access, `share` of its reads and operations and of its writes, to files
    /// on this storage. Of its reads this storage is spared those that memory answers: `remembered`,
    /// 0 to 1.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn add_access(
        &mut self,
        (scene, lanes): (&PreparedProblem<'_>, &ResourceRates),
        home: &ClassLocation,
        storage: usize,
        access: &FileSetAccess,
        share: f64,
        remembered: f64,
    ) {
        let first = storage * LANES;
        let reads = share * (1.0 - remembered);
        for (lane, bytes, share) in [(READ, access.read, reads), (WRITE, access.written, share)] {
            let bytes = bytes.get() as f64 * share;
            if bytes > 0.0 {
                self.alone += bytes * lanes.byte[first + lane];
                self.asks[first + lane] += bytes;
            }
        }
        let names = home.names.filter(|place| *place != storage);
        for (key, count) in &access.ops {
            let group = key.op().group();
            let share = if key.op() == Op::Read { reads } else { share };
            if share <= 0.0 || (!home.durable && matches!(key.op(), Op::Fsync | Op::Fsyncdir)) {
                continue;
            }
            let mut count = count * share * merged_operation_share(scene, storage, access, *key);
            if self.asks_once && names.is_none() && is_asked_once(key.op()) {
                let class = scene.workload.files[access.files.index()].class.index();
                count *= scene.asked_shares.get(class).copied().unwrap_or(1.0);
            }
            let named = if names.is_some() {
                operation_target(key.op(), home.layout.is_packed())
            } else {
                OperationTarget::File
            };
            // Packed files are names in a log of the volume, not files of the tier.
            let logged = home.layout.is_packed() && group == OpGroup::Metadata;
            if named != OperationTarget::Link && !logged {
                let lane = if group == OpGroup::Data { DATA } else { NAMES };
                self.add_operations(scene, storage, lane, *key, count);
            }
            // Rules that pack files let Forebay believe for a second which names a directory has.
            let is_known =
                self.asks_once && key.op() == Op::LookupFailed && home.layout.is_packed();
            if let Some(place) = names.filter(|_| named != OperationTarget::File && !is_known) {
                self.add_operations(scene, place, NAMES, *key, count);
            }
            let is_asked = group == OpGroup::Metadata && home.layout != FileLayout::Whole;
            let Some(own) = self.own.filter(|_| is_asked) else { continue };
            self.alone += count * own.request.get();
            // Packed names are in a log, and nobody else is asked.
            let asked = match (key.op(), home.layout) {
                (Op::Create, FileLayout::Plain) if names.is_some() => OF_TIERED,
                (Op::Create, FileLayout::Plain) => OF_IN_PLACE,
                (Op::Mkdir, FileLayout::Plain) if self.packs_files => OF_PACKED_DIRECTORY,
                _ => &[],
            };
            let place = names.unwrap_or(storage);
            for (op, times) in asked {
                let key = OpKey::without_bytes(*op);
                self.add_operations(scene, place, NAMES, key, count * times);
            }
        }
    }

    /// Adds operations on a storage.
    fn add_operations(
        &mut self,
        scene: &PreparedProblem<'_>,
        storage: usize,
        lane: usize,
        key: OpKey,
        count: f64,
    ) {
        let Some(profile) = scene.storages[storage].profile else { return };
        let seconds = count * profile.operation_latency(key).get();
        self.alone += seconds;
        self.asks[storage * LANES + lane] += count;
        self.asks[storage * LANES + WORK] += seconds;
    }
}
