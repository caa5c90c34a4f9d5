//! What is done again because machines were taken away, as it is to be expected.
//!
//! One run in a thousand may be interrupted, so a few simulations of it show nothing. What one
//! interruption costs they do show: it is taken from simulations in which about one happens, and
//! counted as often as machines are taken away. What it is not: the worst that can happen.

use crate::choice::{Choice, SpotMachines};
use crate::outcome::Outcome;
use crate::prepared_problem::{PreparedProblem, SimulationError};
use crate::simulate::{SimulationEvent, SimulationObserver, simulate, simulate_watched};
use forebay_model::{ByteCount, Seconds};

/// Simulations that a mean is of.
const RUNS: u64 = 4;
/// More often than once a second machines are not taken away, to learn what it costs.
const PER_HOUR_MAX: f64 = 3600.0;

/// What is done again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExpectedRework {
    /// Machines that are taken away during the run.
    pub interruptions: f64,
    /// How much later all is done because of them.
    pub time: Seconds,
    /// Tasks that begin again, as a share of all.
    pub share: f64,
}

/// Simulates a choice; where its machines may be taken away, with the mean of what that costs in
/// its makespan and in the bytes that are moved.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with_rework(
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    seed: u64,
) -> Result<(Outcome, Option<ExpectedRework>), SimulationError> {
    let Some(spot) = choice.spot else { return Ok((simulate(scene, choice, seed)?, None)) };
    let with =
        |per_hour| Choice { spot: Some(SpotMachines { per_hour, ..spot }), ..choice.clone() };
    // Never interrupted, but still not possible if it could not outlive that.
    let mut outcome = simulate(scene, &with(0.0), seed)?;
    let hours = outcome.makespan.get() / 3600.0 * f64::from(choice.nodes);
    let once = if hours > 0.0 { (1.0 / hours).min(PER_HOUR_MAX) } else { PER_HOUR_MAX };
    let often = with(spot.per_hour.max(once));
    let (mut watch, mut late, mut tasks) = (InterruptionCounter::default(), 0.0, 0.0);
    for run in 0..RUNS {
        let other = simulate_watched(scene, &often, seed.wrapping_add(run), &mut watch)?;
        late += (other.makespan - outcome.makespan).get();
        tasks += other.rework().tasks as f64;
    }
    // As many as there would be, for each that there was.
    let taken = f64::from(watch.machines);
    let expected = if spot.per_hour < once { spot.per_hour * hours } else { taken / RUNS as f64 };
    let each = if taken > 0.0 { expected / taken } else { 0.0 };
    let all = (outcome.tasks.len() as f64).max(1.0);
    let again = ExpectedRework {
        interruptions: expected,
        // Who begins again may find a better order by chance; nobody should count on it.
        time: Seconds((late * each).max(0.0)),
        share: tasks * each / all,
    };
    outcome.makespan += again.time;
    for tier in outcome.tiers.values_mut() {
        tier.read_bytes = grow_by_share(tier.read_bytes, again.share);
        tier.written_bytes = grow_by_share(tier.written_bytes, again.share);
        tier.operations *= 1.0 + again.share;
    }
    Ok((outcome, Some(again)))
}

fn grow_by_share(bytes: ByteCount, share: f64) -> ByteCount {
    ByteCount((bytes.get() as f64 * (1.0 + share)) as u64)
}

/// Counts machines that are taken away.
#[derive(Debug, Default)]
struct InterruptionCounter {
    machines: u32,
}

impl SimulationObserver for InterruptionCounter {
    fn on_event(&mut self, _at: Seconds, what: &SimulationEvent<'_>) {
        self.machines += u32::from(matches!(what, SimulationEvent::Interrupted { .. }));
    }
}
