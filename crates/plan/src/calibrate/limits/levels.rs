//! What got done by so many threads, and from which number of them on no more.

use crate::calibrate::{Batch, LimitKind};
use forebay_model::OpGroup;
use std::collections::BTreeMap;

/// With twice the threads a storage gets twice as much done, or the same: what is nearer to the same
/// has a limit in sight.
const IN_SIGHT: f64 = std::f64::consts::SQRT_2;
/// What fewer threads get nearly as much done of is at its limit.
const REACHED: f64 = 1.15;
/// From which part of the most on a storage is called full.
const FULL: f64 = 0.9;
/// Larger reads and writes are about bytes, smaller ones about operations.
const BYTES_MIN: f64 = 65_536.0;
/// A batch at one number of threads: what got done in a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConcurrencyLevel<'b> {
    pub(super) batch: &'b Batch,
    pub(super) seconds: f64,
    pub(super) through: f64,
}

/// Batches of one name at several numbers of threads that are about this, fewest threads first.
pub(super) fn levels_by_batch_name<'b>(
    batches: &'b [Batch],
    medians: &[Option<f64>],
    limited: LimitKind,
) -> Vec<Vec<ConcurrencyLevel<'b>>> {
    let mut families: BTreeMap<&str, Vec<ConcurrencyLevel<'b>>> = BTreeMap::new();
    for (batch, seconds) in batches.iter().zip(medians) {
        let (Some(seconds), Some((kind, amount))) = (*seconds, demand_per_thread(batch)) else {
            continue;
        };
        if kind == limited {
            let through = f64::from(batch.threads) * amount / seconds;
            families.entry(&batch.name).or_default().push(ConcurrencyLevel {
                batch,
                seconds,
                through,
            });
        }
    }
    let mut families: Vec<_> = families.into_values().filter(|levels| levels.len() > 2).collect();
    for levels in &mut families {
        levels.sort_by_key(|level| level.batch.threads);
    }
    families
}

/// The most of it that one thread alone got in a second, of whatever kind.
pub(super) fn most_by_one_thread(
    batches: &[Batch],
    medians: &[Option<f64>],
    limited: LimitKind,
) -> f64 {
    let alone = batches.iter().zip(medians).filter(|(batch, _)| batch.threads == 1);
    let rates = alone.filter_map(|(batch, seconds)| {
        let (kind, amount) = demand_per_thread(batch)?;
        (kind == limited).then_some(amount / (*seconds)?)
    });
    rates.fold(0.0, f64::max)
}

/// What a batch is about, and how much of it each thread asks for.
pub(super) fn demand_per_thread(batch: &Batch) -> Option<(LimitKind, f64)> {
    let count = |data: bool| -> f64 {
        let ops = batch.ops.iter();
        ops.filter(|(key, _)| (key.op().group() == OpGroup::Data) == data).map(|(_, n)| n).sum()
    };
    let (data, names) = (count(true), count(false));
    let bytes = (batch.read.get() + batch.written.get()) as f64;
    if data == 0.0 {
        return (names > 0.0).then_some((LimitKind::Names, names));
    }
    if bytes / data < BYTES_MIN {
        return Some((LimitKind::Data, data));
    }
    let way = if batch.read.get() > 0 { LimitKind::Read } else { LimitKind::Write };
    Some((way, bytes))
}

pub(super) fn highest_throughput(levels: &[ConcurrencyLevel<'_>]) -> f64 {
    levels.iter().map(|level| level.through).fold(0.0, f64::max)
}

/// The last threads that were added got so much more done that no limit is in sight.
pub(super) fn still_scales(levels: &[ConcurrencyLevel<'_>]) -> bool {
    scaling_gain(levels) > IN_SIGHT
}

/// What the most threads got done, against the best of fewer.
fn scaling_gain(levels: &[ConcurrencyLevel<'_>]) -> f64 {
    let Some((last, before)) = levels.split_last() else { return f64::INFINITY };
    last.through / highest_throughput(before)
}

/// The least threads that fill the storage.
pub(super) fn threads_to_saturate(levels: &[ConcurrencyLevel<'_>]) -> Option<u32> {
    let enough = highest_throughput(levels) * FULL;
    let first = levels.iter().find(|level| level.through >= enough);
    first.filter(|_| scaling_gain(levels) <= REACHED).map(|level| level.batch.threads)
}
