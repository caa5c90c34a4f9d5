//! What a tier's storage can do: the price in time of each kind of operation, the rate of one
//! stream, and limits that all who use it share.
//!
//! One set of numbers, four uses: it describes a tier in a site file, a simulator prices with it,
//! an emulated tier obeys it, and probes and fits produce it. Operations come first, bytes second:
//! of the published pipelines, volume over bandwidth explains a fifteenth to a thirtieth of the
//! time (the figures of Genomon on Fugaku, `studies/`). What it is not: a clock, or a queue.

mod described;
mod profile_parser;
mod schema;
mod shipped;

pub use described::TierTemplate;
pub use shipped::SHIPPED;

use crate::event::{AccessPattern, Op, OpKey};
use crate::units::{ByteCount, Rate, Seconds};

/// The numbers of one storage.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageProfile {
    /// Where the numbers come from: a probe, a data sheet, a paper, with its date.
    pub source: String,
    /// For each [`OpKey::index`], how long one operation takes with nobody else there, without the
    /// time that its bytes take.
    prices: Vec<Seconds>,
    /// How fast bytes come.
    pub read: BandwidthLimits,
    /// How fast bytes go.
    pub write: BandwidthLimits,
    /// Operations on names and attributes a second that the whole storage answers; `None`: no
    /// limit is known.
    pub names_per_second: Option<f64>,
    /// Reads and writes a second that the whole storage answers; `None`: no limit is known.
    pub data_per_second: Option<f64>,
    /// How far reads and writes may go above that for a while.
    pub data_burst: Option<BurstCredits>,
    /// Operations that the whole storage works on at a time, each for as long as its price;
    /// `None`: as many as there are.
    pub at_once: Option<u32>,
    /// Reads and writes that go on where the last one ended are one operation up to so many bytes:
    /// local file systems read ahead and write later. `None`: each is one.
    pub merges: Option<ByteCount>,
    /// How long a client believes names and attributes that it was told, for emulations: counts of
    /// operations in a workload are those of the client that was watched. `None`: as it does here.
    pub attributes_for: Option<Seconds>,
    /// The disks or servers that hold it, and how files are spread over them.
    pub stripes: StripeLayout,
    /// How the limits shrink under use.
    pub contention: Contention,
    /// The memory of a node that writes a file answers those who read it there. Clients of network
    /// file systems and kernels do so; many FUSE file systems let go of what was written.
    pub keeps_written: bool,
}

/// One direction of a storage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BandwidthLimits {
    /// One file read or written from end to end by one program; `None`: as fast as the limits.
    pub stream: Option<Rate>,
    /// All streams of one node.
    pub node: Option<Rate>,
    /// All streams together, everywhere.
    pub total: Option<Rate>,
    /// How far `total`, or `node` where there is none, may be passed for a while.
    pub burst: Option<BurstCredits>,
}

/// A bucket of credits: they come at the rate that a limit names, up to a full account, and while
/// there are some, this rate is the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstCredits {
    /// Bytes or operations a second.
    pub per_second: f64,
    /// Bytes or operations that a full account pays for.
    pub credits: f64,
}

/// Where the parts of a storage are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StripeLayout {
    /// How many disks or servers there are; each has its part of capacity and of `total`.
    pub servers: u32,
    /// Over how many of them one file is spread.
    pub count: u32,
    /// Bytes on one before the next one has its turn.
    pub size: ByteCount,
}

impl Default for StripeLayout {
    fn default() -> Self {
        Self { servers: 1, count: 1, size: ByteCount(1 << 20) }
    }
}

/// How much of the limits is left under use: the share
/// `1 / (1 + fill * F + moved * F / (1 - F) + streams * S)`, where `F` is the used part of the
/// capacity (0 to 1) and `S` counts streams beyond the first, as a part of the site's slots. All
/// are 0 where nobody calibrated them: one run alone does not show them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contention {
    /// Growth of costs from empty to full.
    pub fill: f64,
    /// Flash that is `F` full moves `F / (1 - F)` pages to free room for one that is written, if
    /// what dies is spread evenly; this is the part of that work that takes time from others. With
    /// 1, what is left is the free part, `1 - F`.
    pub moved: f64,
    /// Growth of costs from one stream to one in each slot.
    pub streams: f64,
}

impl Contention {
    /// By how much costs grow at this fill, streams left aside.
    pub fn cost_growth(&self, fill: f64) -> f64 {
        // A full disk is slow, not dead: controllers keep some room of their own.
        let fill = fill.clamp(0.0, 0.95);
        self.fill * fill + self.moved * fill / (1.0 - fill)
    }

    /// Costs do not depend on use.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl StorageProfile {
    /// A storage that costs nothing: no waits, no limits.
    pub fn zero_cost(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            prices: vec![Seconds::ZERO; OpKey::COUNT],
            read: BandwidthLimits::default(),
            write: BandwidthLimits::default(),
            names_per_second: None,
            data_per_second: None,
            data_burst: None,
            at_once: None,
            merges: None,
            attributes_for: None,
            stripes: StripeLayout::default(),
            contention: Contention::default(),
            keeps_written: true,
        }
    }

    /// How long one such operation takes, without its bytes.
    pub fn operation_latency(&self, key: OpKey) -> Seconds {
        self.prices[key.index()]
    }

    /// As which part of an operation one read or write of so many bytes counts.
    pub fn operation_share(&self, key: OpKey, bytes: f64) -> f64 {
        match self.merges {
            Some(whole) if key.pattern() == Some(AccessPattern::Sequential) => {
                (bytes / whole.get().max(1) as f64).min(1.0)
            }
            _ => 1.0,
        }
    }

    /// Sets the price of one kind, size and pattern.
    pub fn set_latency(&mut self, key: OpKey, price: Seconds) {
        self.prices[key.index()] = price;
    }

    /// Sets the price of all sizes and patterns of one kind.
    pub fn set_latencies(&mut self, op: Op, price: Seconds) {
        for key in (0..OpKey::COUNT).filter_map(OpKey::from_index).filter(|key| key.op() == op) {
            self.set_latency(key, price);
        }
    }
}

#[cfg(test)]
mod tests;
