//! The simulation: discrete events over flows. Tasks wait for others, then for a slot; their steps
//! compute and do I/O by turns, and share what tiers have; files take room and give it back.
//!
//! The same scene, choice and seed give the same outcome to the last bit: only sums, products,
//! quotients and comparisons of numbers are used, in an order that nothing outside has a say in.
//! What it is not: it measures nothing and chooses nothing.

mod admission;
mod cached_copies;
mod file_space;
mod machine_loss;
mod node_slots;
mod observer;
mod pricing;
mod ready_queue;
mod sim;
mod starting;
mod task_lifecycle;
mod tier_usage;
mod undetected_losses;
mod write_back_queue;

pub use observer::{SimulationEvent, SimulationObserver};

use crate::choice::Choice;
use crate::interruptions::Interruptions;
use crate::outcome::Outcome;
use crate::policies::{Admission, POLICIES, Policy};
use crate::prepared_problem::{PreparedProblem, SimulationError};
use crate::share::FlowEngine;
use crate::share::flow_classes::FlowClassEngine;
use crate::share::per_server_engine::PerServerEngine;
use sim::Simulation;

/// Simulates a choice with the engine for searching.
///
/// # Errors
/// The choice can't be, or something in it never can start; it says what.
pub fn simulate(
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    seed: u64,
) -> Result<Outcome, SimulationError> {
    simulate_watched(scene, choice, seed, &mut ())
}

/// Simulates a choice with the engine that judges: every link of a node, every server.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_in_detail(
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    seed: u64,
) -> Result<Outcome, SimulationError> {
    let by_chance = Interruptions::by_chance(choice.spot, choice.nodes, seed);
    simulate_with_engine::<PerServerEngine, _>(scene, choice, by_chance, &mut ())
}

/// As [`simulate`]; `watch` is told what happens.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_watched(
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    seed: u64,
    watch: &mut impl SimulationObserver,
) -> Result<Outcome, SimulationError> {
    let by_chance = Interruptions::by_chance(choice.spot, choice.nodes, seed);
    simulate_interrupted(scene, choice, by_chance, watch)
}

/// As [`simulate_watched`]; nodes are taken away as `interruptions` says, and not as the choice does.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_interrupted(
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    interruptions: Interruptions,
    watch: &mut impl SimulationObserver,
) -> Result<Outcome, SimulationError> {
    simulate_with_engine::<FlowClassEngine, _>(scene, choice, interruptions, watch)
}

/// Simulates with an engine.
pub(crate) fn simulate_with_engine<F: FlowEngine, W: SimulationObserver>(
    scene: &PreparedProblem<'_>,
    choice: &Choice,
    interruptions: Interruptions,
    watch: &mut W,
) -> Result<Outcome, SimulationError> {
    let homes = scene.resolve_class_homes(choice)?;
    if !interruptions.are_none() {
        scene.check_survives_loss(&homes.of_class)?;
    }
    let policy = Policy::find_by_name(choice.policy.0).ok_or_else(|| {
        let known: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
        SimulationError(format!(
            "there is no policy {:?}; there are {}",
            choice.policy.0,
            known.join(", ")
        ))
    })?;
    let mut sim = Simulation::<F, W>::new(scene, choice, homes, policy, (interruptions, watch));
    if policy.admission == Admission::Pipeline {
        let alone = Choice {
            pipelines: 1,
            policy: Policy::find_by_name("low-priority").map_or(choice.policy, Policy::id),
            ..choice.clone()
        };
        let calm = Interruptions::none();
        let alone = simulate_with_engine::<FlowClassEngine, ()>(scene, &alone, calm, &mut ())?;
        sim.reserve = scene
            .tiers
            .iter()
            .map(|row| alone.tiers.get(&row.id).map_or(0, |tier| tier.peak_bytes.get()))
            .collect();
    }
    sim.run_event_loop()?;
    Ok(sim.into_outcome())
}

/// A step as it is when its files are where the choice wants them.
#[derive(Clone, Copy, Debug)]
struct StepWork {
    shape: u32,
    alone: f64,
    compute: f64,
    /// What it costs depends on where copies of its files are.
    varies: bool,
}

/// A task that runs.
#[derive(Clone, Copy, Debug, Default)]
struct RunningTask {
    run: u32,
    step: u32,
    node: u32,
    /// Its place in the outcome.
    place: u32,
    /// It runs; otherwise its place is free.
    live: bool,
    /// Seconds in which it computes, in steps so far.
    compute: f64,
}

/// Files of one set in one pipeline: bytes at home, and bytes in place that did not fit there or
/// came back from there.
#[derive(Clone, Copy, Debug, Default)]
struct HeldFiles {
    home: u64,
    in_place: u64,
    node: u32,
}

impl<F: FlowEngine, W: SimulationObserver> Simulation<'_, '_, F, W> {
    fn run_event_loop(&mut self) -> Result<(), SimulationError> {
        let mut arrived = 0;
        let mut done = Vec::new();
        // Nodes that are not there from the start.
        self.apply_interruptions()?;
        loop {
            while arrived < self.choice.pipelines && self.may_admit_pipeline(arrived) {
                self.admitted[arrived as usize] = true;
                self.admit_pipeline(arrived)?;
                arrived += 1;
            }
            self.start_waiting_tasks()?;
            let mut next = self.flows.next_completion(self.now, &self.shapes);
            // One that is due and not admitted waits for the end of another.
            if arrived < self.choice.pipelines && self.arrival_time(arrived) > self.now {
                next = next.min(self.arrival_time(arrived));
            }
            next = next.min(self.next_interruption_time()).min(self.drains.next_due_time());
            if next == f64::INFINITY || (self.undone == 0 && self.drains.is_idle()) {
                break;
            }
            self.now = next.max(self.now);
            self.flows.take_completed(self.now, &mut done, &self.shapes);
            for flow in done.drain(..) {
                if !self.finish_write_back(flow)? {
                    self.finish_step(flow)?;
                }
            }
            self.apply_interruptions()?;
            self.start_due_write_backs()?;
        }
        if self.undone > 0 {
            return Err(self.explain_stuck_task());
        }
        Ok(())
    }

    fn may_admit_pipeline(&self, pipeline: u32) -> bool {
        let due = self.arrival_time(pipeline) <= self.now;
        due && (self.policy.admission != Admission::Pipeline || self.has_room_for_pipeline())
    }

    fn arrival_time(&self, pipeline: u32) -> f64 {
        self.begin + f64::from(pipeline) * self.choice.stagger.get()
    }
}
