//! Limits that threads share: found where more threads get no more done.

use super::{Batch, Limited, Number, simulated};
use crate::compare::Span;
use crate::scene::NotPossible;
use forebay_model::{OpGroup, Profile, Reach};
use std::collections::BTreeMap;

/// With twice the threads a storage gets twice as much done, or the same; what is nearer to the same
/// has found its limit.
const STILL_GROWS: f64 = 1.15;
/// From which part of the most on a storage is called full.
const FULL: f64 = 0.9;
/// Larger reads and writes are about bytes, smaller ones about operations.
const BYTES_MIN: f64 = 65_536.0;
/// Guesses over the whole range, then steps around the best of them.
const GUESSES: u32 = 24;
const STEPS: u32 = 24;

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) spans: BTreeMap<Number, Span>,
    pub(super) growing: Vec<Limited>,
    pub(super) at_once: Option<u32>,
}

/// A batch at one number of threads: what got done in a second.
#[derive(Clone, Copy, Debug)]
struct Level<'b> {
    batch: &'b Batch,
    seconds: f64,
    through: f64,
}

/// Searches for limits, and writes them into the profile.
pub(super) fn search(
    batches: &[Batch],
    medians: &[Option<f64>],
    reach: Reach,
    profile: &mut Profile,
) -> Result<Found, NotPossible> {
    let mut found = Found::default();
    let mut full_at = Vec::new();
    // Bytes first: many small operations are bytes as well, not the other way round.
    for limited in [Limited::Read, Limited::Write, Limited::Names, Limited::Data] {
        let families = families(batches, medians, limited);
        if families.is_empty() {
            continue;
        }
        full_at.extend(families.iter().map(|levels| full_from(levels)));
        let limit = match families.iter().any(|levels| !grows(levels)) {
            true => best(&families, limited, reach, profile)?,
            false => None,
        };
        let Some(limit) = limit else {
            found.growing.push(limited);
            continue;
        };
        Number::Limit(limited).set(profile, reach, limit);
        found.spans.insert(Number::Limit(limited), span(&families, limit));
    }
    // One that still grows leaves open how many the storage serves.
    let all: Option<Vec<u32>> = full_at.into_iter().collect();
    found.at_once = all.and_then(|all| all.into_iter().max());
    Ok(found)
}

/// Batches of one name at several numbers of threads that are about this, fewest threads first.
fn families<'b>(
    batches: &'b [Batch],
    medians: &[Option<f64>],
    limited: Limited,
) -> Vec<Vec<Level<'b>>> {
    let mut families: BTreeMap<&str, Vec<Level<'b>>> = BTreeMap::new();
    for (batch, seconds) in batches.iter().zip(medians) {
        let (Some(seconds), Some((kind, amount))) = (*seconds, asks(batch)) else { continue };
        if kind == limited {
            let through = f64::from(batch.threads) * amount / seconds;
            families.entry(&batch.name).or_default().push(Level { batch, seconds, through });
        }
    }
    let mut families: Vec<_> = families.into_values().filter(|levels| levels.len() > 2).collect();
    for levels in &mut families {
        levels.sort_by_key(|level| level.batch.threads);
    }
    families
}

/// What a batch is about, and how much of it each thread asks for.
fn asks(batch: &Batch) -> Option<(Limited, f64)> {
    let count = |data: bool| -> f64 {
        let ops = batch.ops.iter();
        ops.filter(|(key, _)| (key.op().group() == OpGroup::Data) == data).map(|(_, n)| n).sum()
    };
    let (data, names) = (count(true), count(false));
    let bytes = (batch.read.get() + batch.written.get()) as f64;
    if data == 0.0 {
        return (names > 0.0).then_some((Limited::Names, names));
    }
    if bytes / data < BYTES_MIN {
        return Some((Limited::Data, data));
    }
    let way = if batch.read.get() > 0 { Limited::Read } else { Limited::Write };
    Some((way, bytes))
}

fn most(levels: &[Level<'_>]) -> f64 {
    levels.iter().map(|level| level.through).fold(0.0, f64::max)
}

/// The last threads that were added still got more done.
fn grows(levels: &[Level<'_>]) -> bool {
    let [.., before, last] = levels else { return true };
    let threads = f64::from(last.batch.threads) / f64::from(before.batch.threads);
    last.through > before.through * STILL_GROWS.powf(threads.log2())
}

/// The least threads that fill the storage.
fn full_from(levels: &[Level<'_>]) -> Option<u32> {
    let enough = most(levels) * FULL;
    let first = levels.iter().find(|level| level.through >= enough);
    first.filter(|_| !grows(levels)).map(|level| level.batch.threads)
}

/// The limit with which the simulator comes nearest; `None`: without one it is as near.
fn best(
    families: &[Vec<Level<'_>>],
    limited: Limited,
    reach: Reach,
    profile: &Profile,
) -> Result<Option<f64>, NotPossible> {
    let off = |limit: Option<f64>| -> Result<f64, NotPossible> {
        let mut profile = profile.clone();
        if let Some(limit) = limit {
            Number::Limit(limited).set(&mut profile, reach, limit);
        }
        let mut sum = 0.0;
        for level in families.iter().flatten() {
            let ratio = simulated(&profile, reach, level.batch)?.get() / level.seconds;
            sum += ratio.max(1e-9).ln().powi(2);
        }
        Ok(sum)
    };
    let all = families.iter().flatten().map(|level| level.through);
    let (low, high) = (all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max));
    let (low, high) = ((low / 1.5).ln(), (high * 1.5).ln());
    let mut width = (high - low) / f64::from(GUESSES);
    let mut near = (f64::INFINITY, low);
    for guess in 0..=GUESSES {
        let limit = low + width * f64::from(guess);
        let sum = off(Some(limit.exp()))?;
        if sum < near.0 {
            near = (sum, limit);
        }
    }
    for _ in 0..STEPS {
        width /= 1.6;
        for limit in [near.1 - width, near.1 + width] {
            let sum = off(Some(limit.exp()))?;
            if sum < near.0 {
                near = (sum, limit);
            }
        }
    }
    Ok((near.0 < off(None)? * 0.9).then_some(near.1.exp()))
}

/// As far as the batches are known that the limit holds up.
fn span(families: &[Vec<Level<'_>>], limit: f64) -> Span {
    let mut span = Span { low: limit, high: limit, range: false };
    for level in families.iter().filter(|levels| !grows(levels)).filter_map(|levels| levels.last())
    {
        let Some(middle) = level.batch.middle() else { continue };
        span.low = span.low.min(limit * middle.median / middle.span.high);
        span.high = span.high.max(limit * middle.median / middle.span.low);
        span.range |= middle.span.range;
    }
    span
}
