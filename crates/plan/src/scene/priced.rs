//! What one step costs on the tiers where its files are: seconds with nobody else there, and what
//! it asks of limits that all share.

use super::tiers::{DATA, LANES, NAMES, READ, WRITE};
use super::{ClassHome, Scene};
use forebay_model::OpGroup;
use forebay_model::event::Op;
use forebay_model::workload::Access;

/// A step while it is added up.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    /// Seconds with nobody else there.
    pub(crate) alone: f64,
    /// Of these, those in which it computes.
    pub(crate) compute: f64,
    /// For each lane of each storage, bytes or operations.
    pub(crate) asks: Vec<f64>,
}

/// The rates of one stream, and whether limits matter, for each lane of each storage.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// Seconds for a byte, of one stream that is alone.
    byte: Vec<f64>,
    /// There is a limit.
    pub(crate) limited: Vec<bool>,
}

impl Lanes {
    pub(crate) fn of(scene: &Scene<'_>) -> Self {
        let (mut byte, mut limited) = (Vec::new(), Vec::new());
        for storage in &scene.storages {
            for (lane, limit) in storage.limits().into_iter().enumerate() {
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
    pub(crate) fn copy(&self, from: usize, to: usize) -> f64 {
        self.byte[from + READ].max(self.byte[to + WRITE])
    }
}

impl Cost {
    pub(crate) fn new(scene: &Scene<'_>) -> Self {
        Self { alone: 0.0, compute: 0.0, asks: vec![0.0; scene.storages.len() * LANES] }
    }

    /// Makes it a step that computes so long and does nothing else.
    pub(crate) fn start(&mut self, compute: f64) {
        self.alone = compute;
        self.compute = compute;
        self.asks.fill(0.0);
    }

    /// Adds a part of an access, `share` of its reads and operations and of its writes, to files
    /// on this storage. Of what is in memory, only names are asked for there.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn add(
        &mut self,
        (scene, lanes): (&Scene<'_>, &Lanes),
        home: &ClassHome,
        storage: usize,
        access: &Access,
        share: f64,
        in_memory: bool,
    ) {
        let first = storage * LANES;
        for (lane, bytes) in [(READ, access.read), (WRITE, access.written)] {
            if bytes.get() > 0 && !(in_memory && lane == READ) {
                let bytes = bytes.get() as f64 * share;
                self.alone += bytes * lanes.byte[first + lane];
                self.asks[first + lane] += bytes;
            }
        }
        let Some(profile) = scene.storages[storage].profile else { return };
        for (key, count) in &access.ops {
            let group = key.op().group();
            // Packed files are names in a log of the volume, not files of the tier.
            let free = (in_memory && group == OpGroup::Data)
                || (home.packed && group == OpGroup::Metadata)
                || (!home.durable && matches!(key.op(), Op::Fsync | Op::Fsyncdir));
            if free {
                continue;
            }
            let count = count * share;
            self.alone += count * profile.price(*key).get();
            self.asks[first + if group == OpGroup::Data { DATA } else { NAMES }] += count;
        }
    }
}
