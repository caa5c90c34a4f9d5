//! Limits that threads share: found where more threads get no more done.

mod levels;

use super::{Batch, LimitKind, NoLimitReason, ProfileParameter, simulate_batch};
use crate::compare::UncertaintyInterval;
use crate::prepared_problem::SimulationError;
use forebay_model::{Reach, StorageProfile};
use levels::{
    ConcurrencyLevel, highest_throughput, levels_by_batch_name, most_by_one_thread, still_scales,
    threads_to_saturate,
};
use std::collections::BTreeMap;

/// Guesses over the whole range, then steps around the best of them.
const GUESSES: u32 = 24;
const STEPS: u32 = 24;

/// A limit without which the simulator is off by so much less, on average, is none.
const MATTERS: f64 = 0.1;

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundLimits {
    pub(super) spans: BTreeMap<ProfileParameter, UncertaintyInterval>,
    pub(super) unlimited: Vec<(LimitKind, NoLimitReason)>,
    pub(super) at_once: Option<u32>,
}

/// Searches for limits, and writes them into the profile.
pub(super) fn find_limits(
    batches: &[Batch],
    medians: &[Option<f64>],
    reach: Reach,
    profile: &mut StorageProfile,
) -> Result<FoundLimits, SimulationError> {
    let mut found = FoundLimits::default();
    let mut full_at = Vec::new();
    // Bytes first: many small operations are bytes as well, not the other way round.
    for limited in [LimitKind::Read, LimitKind::Write, LimitKind::Names, LimitKind::Data] {
        let families = levels_by_batch_name(batches, medians, limited);
        if families.is_empty() {
            continue;
        }
        full_at.extend(families.iter().map(|levels| threads_to_saturate(levels)));
        // What one thread alone gets of some operations can't be too much for the storage.
        let alone = most_by_one_thread(batches, medians, limited);
        let limit = match families.iter().any(|levels| !still_scales(levels)) {
            true => best_fitting_limit(&families, alone, limited, (reach, profile))?,
            false => Err(NoLimitReason::Growing),
        };
        let limit = match limit {
            Ok(limit) => limit,
            Err(why) => {
                found.unlimited.push((limited, why));
                continue;
            }
        };
        ProfileParameter::Limit(limited).set_in_profile(profile, reach, limit);
        found.spans.insert(ProfileParameter::Limit(limited), limit_span(&families, limit));
    }
    // One that still grows leaves open how many the storage serves.
    let all: Option<Vec<u32>> = full_at.into_iter().collect();
    found.at_once = all.and_then(|all| all.into_iter().max());
    Ok(found)
}

/// The limit with which the simulator comes nearest, if it is not as near without one.
fn best_fitting_limit(
    families: &[Vec<ConcurrencyLevel<'_>>],
    alone: f64,
    limited: LimitKind,
    (reach, profile): (Reach, &StorageProfile),
) -> Result<Result<f64, NoLimitReason>, SimulationError> {
    let off = |limit: Option<f64>| -> Result<f64, SimulationError> {
        let mut profile = profile.clone();
        if let Some(limit) = limit {
            ProfileParameter::Limit(limited).set_in_profile(&mut profile, reach, limit);
        }
        let mut sum = 0.0;
        for level in families.iter().flatten() {
            let ratio = simulate_batch(&profile, reach, level.batch)?.get() / level.seconds;
            sum += ratio.max(1e-9).ln().powi(2);
        }
        Ok(sum)
    };
    let all = families.iter().flatten().map(|level| level.through);
    let (low, high) = (all.clone().fold(f64::INFINITY, f64::min), all.fold(0.0, f64::max));
    let (low, high) = ((low / 1.5).max(alone).ln(), (high * 1.5).max(alone * 1.5).ln());
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
        for limit in [(near.1 - width).max(low), near.1 + width] {
            let sum = off(Some(limit.exp()))?;
            if sum < near.0 {
                near = (sum, limit);
            }
        }
    }
    let gain = off(None)? - near.0;
    let levels = families.iter().flatten().count() as f64;
    if gain > levels * MATTERS * MATTERS {
        return Ok(Ok(near.1.exp()));
    }
    let uneven = families.iter().all(|levels| highest_throughput(levels) < alone);
    Ok(Err(if uneven { NoLimitReason::Uneven } else { NoLimitReason::Explained }))
}

/// As far as the batches are known that the limit holds up.
fn limit_span(families: &[Vec<ConcurrencyLevel<'_>>], limit: f64) -> UncertaintyInterval {
    let mut span = UncertaintyInterval { low: limit, high: limit, range: false };
    for level in
        families.iter().filter(|levels| !still_scales(levels)).filter_map(|levels| levels.last())
    {
        let Some(middle) = level.batch.median_with_interval() else { continue };
        span.low = span.low.min(limit * middle.median / middle.span.high);
        span.high = span.high.max(limit * middle.median / middle.span.low);
        span.range |= middle.span.range;
    }
    span
}
