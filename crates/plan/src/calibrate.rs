//! A profile from batches that were measured one by one, as a probe does: the simulator, given the
//! profile and the same operations, takes the seconds that were measured.
//!
//! Prices and the rates of one stream come from what one thread did: each batch is a sum of prices,
//! and the best prices that are not negative are taken. Limits come from what several threads did:
//! where more of them get no more done, the limit is searched with which the simulator comes
//! nearest. What it is not: a clock or a storage, nor [`fit`](crate::fit), which learns from runs
//! where many things happened at once.

mod fitted_prices;
mod limits;
mod simulated;
mod spans;

pub use simulated::simulate_batch;

use crate::compare::{MedianEstimate, UncertaintyInterval, median_with_interval};
use crate::prepared_problem::SimulationError;
use forebay_model::{AccessPattern, ByteCount, Op, OpKey, Reach, Seconds, StorageProfile};
use std::collections::BTreeMap;

/// Bytes a second that no memory reaches: a fit that says so has seen no bytes.
const FASTEST: f64 = 1e13;

/// The same done by so many threads at once, in several rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// What people call it; batches of one name differ in their threads.
    pub name: String,
    /// How many did it at once, each with files of its own.
    pub threads: u32,
    /// What each of them did, as Forebay counts operations.
    pub ops: Vec<(OpKey, f64)>,
    /// Bytes that each of them read.
    pub read: ByteCount,
    /// Bytes that each of them wrote.
    pub written: ByteCount,
    /// How long that took until all were done, round by round.
    pub seconds: Vec<f64>,
}

impl Batch {
    /// The median over the rounds; `None`: it was not measured.
    pub fn median_with_interval(&self) -> Option<MedianEstimate> {
        median_with_interval(&self.seconds).filter(|middle| middle.median > 0.0)
    }
}

/// A number of a profile that batches tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfileParameter {
    /// What bytes of reads or of writes take when one thread is alone. First in the order: where
    /// bytes and operations can't be told apart, the time is the bytes'.
    Stream(Op),
    /// The price of a kind of operation; of those without bytes the pattern is sequential.
    Price(Op, AccessPattern),
    /// What all threads together get.
    Limit(LimitKind),
}

/// What a storage may have a limit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitKind {
    /// Bytes read.
    Read,
    /// Bytes written.
    Write,
    /// Operations on names and attributes.
    Names,
    /// Reads and writes.
    Data,
}

/// Why no limit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLimitReason {
    /// More threads still got more done.
    Growing,
    /// Prices and other limits explain what was measured.
    Explained,
    /// It is different for each kind of operation: one thread alone gets more done of some than many
    /// threads do of others.
    Uneven,
}

/// What batches tell of a storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The storage.
    pub profile: StorageProfile,
    /// How far each number of it is known; prices and times of a byte in seconds, rates and limits
    /// in bytes or operations a second.
    pub spans: BTreeMap<ProfileParameter, UncertaintyInterval>,
    /// With how many threads nothing gets more done any more; `None`: something still does.
    pub at_once: Option<u32>,
    /// Of what no limit is known, though several threads were measured.
    pub unlimited: Vec<(LimitKind, NoLimitReason)>,
    /// What the simulator says of each batch, in their order; `None`: it was not measured.
    pub simulated: Vec<Option<Seconds>>,
}

/// Fits a profile to batches; `seed` is for the intervals.
///
/// # Errors
/// A batch can't be simulated.
pub fn calibrate_profile(
    batches: &[Batch],
    reach: Reach,
    source: &str,
    seed: u64,
) -> Result<Calibration, SimulationError> {
    let medians: Vec<Option<f64>> = batches
        .iter()
        .map(|batch| batch.median_with_interval().map(|middle| middle.median))
        .collect();
    let priced = fitted_prices::solve_prices(batches, &medians);
    let mut profile = StorageProfile::zero_cost(source);
    for (number, value) in &priced {
        number.set_in_profile(&mut profile, reach, *value);
    }
    let found = limits::find_limits(batches, &medians, reach, &mut profile)?;
    let simulated = batches
        .iter()
        .zip(&medians)
        .map(|(batch, median)| median.map(|_| simulate_batch(&profile, reach, batch)).transpose());
    let simulated = simulated.collect::<Result<_, _>>()?;
    let mut spans = spans::price_spans(batches, &priced, seed);
    spans.extend(found.spans);
    Ok(Calibration {
        profile,
        spans,
        at_once: found.at_once,
        unlimited: found.unlimited,
        simulated,
    })
}

impl Calibration {
    /// By which share the simulator is off where it is off the most, and at which batch; `None`:
    /// nothing was measured.
    pub fn worst_batch_error(&self, batches: &[Batch]) -> Option<(usize, f64)> {
        let off = |(place, batch): (usize, &Batch)| {
            let (middle, simulated) =
                (batch.median_with_interval()?, self.simulated.get(place).copied()??);
            Some((place, simulated.get() / middle.median - 1.0))
        };
        let all = batches.iter().enumerate().filter_map(off);
        all.max_by(|(_, one), (_, other)| one.abs().total_cmp(&other.abs()))
    }
}

impl ProfileParameter {
    /// Writes the number into a profile. What one node sees of a storage that others use, too, is
    /// what a node gets, not all that there is.
    fn set_in_profile(self, profile: &mut StorageProfile, reach: Reach, value: f64) {
        // What takes next to nothing has no rate that anybody measured.
        let known = |value: &f64| *value > 0.0 && *value < FASTEST;
        let rate = |value: f64| Some(value).filter(known).map(forebay_model::Rate);
        match self {
            Self::Stream(Op::Read) => profile.read.stream = rate(1.0 / value),
            Self::Stream(_) => profile.write.stream = rate(1.0 / value),
            Self::Price(op, pattern) => {
                let keys = (0..OpKey::COUNT).filter_map(OpKey::from_index);
                let same = |key: &OpKey| {
                    key.op() == op && key.pattern().is_none_or(|other| other == pattern)
                };
                keys.filter(same).for_each(|key| profile.set_latency(key, Seconds(value)));
            }
            Self::Limit(LimitKind::Names) => profile.names_per_second = Some(value),
            Self::Limit(LimitKind::Data) => profile.data_per_second = Some(value),
            Self::Limit(limited) => {
                let lane = match limited {
                    LimitKind::Read => &mut profile.read,
                    _ => &mut profile.write,
                };
                match reach {
                    Reach::Node => lane.total = rate(value),
                    Reach::Shared | Reach::World => lane.node = rate(value),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
