//! The simulation: discrete events over flows. Tasks wait for others, then for a slot; their steps
//! compute and do I/O by turns, and share what tiers have; files take room and give it back.
//!
//! The same scene, choice and seed give the same outcome to the last bit: only sums, products,
//! quotients and comparisons of numbers are used, in an order that nothing outside has a say in.
//! What it is not: it measures nothing and chooses nothing.

mod admission;
mod copies;
mod files;
mod pricing;
mod room;
mod space;
mod tasks;
mod waiting;
mod watch;

pub use watch::{Seen, Watch};

use crate::choice::Choice;
use crate::outcome::{Outcome, TaskOutcome, TierOutcome};
use crate::policies::{Admission, POLICIES, Policy};
use crate::scene::{Cost, Homes, Lanes, NotPossible, Scene};
use crate::share::classes::Classes;
use crate::share::{Flows, Shapes};
use copies::Copies;
use forebay_model::Seconds;
use room::Room;
use space::Used;
use waiting::Waiting;

/// Simulates a choice with the engine for searching.
///
/// # Errors
/// The choice can't be, or something in it never can start; it says what.
pub fn simulate(scene: &Scene<'_>, choice: &Choice, seed: u64) -> Result<Outcome, NotPossible> {
    simulate_watched(scene, choice, seed, &mut ())
}

/// The same; `watch` is told what happens.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_watched(
    scene: &Scene<'_>,
    choice: &Choice,
    seed: u64,
    watch: &mut impl Watch,
) -> Result<Outcome, NotPossible> {
    with::<Classes, _>(scene, choice, seed, watch)
}

/// Simulates with an engine.
pub(crate) fn with<F: Flows, W: Watch>(
    scene: &Scene<'_>,
    choice: &Choice,
    seed: u64,
    watch: &mut W,
) -> Result<Outcome, NotPossible> {
    let homes = scene.homes(choice)?;
    let policy = Policy::named(choice.policy.0).ok_or_else(|| {
        let known: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
        NotPossible(format!(
            "there is no policy {:?}; there are {}",
            choice.policy.0,
            known.join(", ")
        ))
    })?;
    let mut sim = Sim::<F, W>::new(scene, choice, homes, policy, watch);
    if policy.admission == Admission::Pipeline {
        let alone = Choice {
            pipelines: 1,
            policy: Policy::named("low-priority").map_or(choice.policy, Policy::id),
            ..choice.clone()
        };
        let alone = with::<Classes, ()>(scene, &alone, seed, &mut ())?;
        sim.reserve = scene
            .tiers
            .iter()
            .map(|row| alone.tiers.get(&row.id).map_or(0, |tier| tier.peak_bytes.get()))
            .collect();
    }
    sim.run()?;
    Ok(sim.outcome())
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
struct Running {
    run: u32,
    step: u32,
    node: u32,
    /// Its place in the outcome.
    place: u32,
    /// Seconds in which it computes, in steps that are done.
    compute: f64,
}

/// Files of one set in one pipeline: bytes at home, and bytes that did not fit there.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    home: u64,
    spilled: u64,
    node: u32,
}

struct Sim<'a, 's, F, W> {
    scene: &'a Scene<'s>,
    choice: &'a Choice,
    homes: Homes,
    policy: &'static Policy,
    watch: &'a mut W,
    now: f64,
    lanes: Lanes,
    flows: F,
    shapes: Shapes,
    works: Vec<StepWork>,
    cost: Cost,
    room: Room,
    waiting: Waiting,
    used: Vec<Used>,
    held: Vec<Held>,
    spilled: bool,
    /// What a pipeline sets apart on each tier, for policies that do, and how many have.
    reserve: Vec<u64>,
    admitted: Vec<bool>,
    /// For how many tasks each task of each pipeline still waits.
    left: Vec<u32>,
    undone: usize,
    done: Vec<bool>,
    copies: Copies,
    /// When the first pipeline begins: copies that are made before take their time.
    begin: f64,
    running: Vec<Running>,
    spare: Vec<u32>,
    tasks: Vec<TaskOutcome>,
    tiers: Vec<TierOutcome>,
}

impl<'a, 's, F: Flows, W: Watch> Sim<'a, 's, F, W> {
    fn new(
        scene: &'a Scene<'s>,
        choice: &'a Choice,
        homes: Homes,
        policy: &'static Policy,
        watch: &'a mut W,
    ) -> Self {
        let pipelines = choice.pipelines as usize;
        let (tasks, sets) = (scene.workload.tasks.len(), scene.workload.files.len());
        let mut low = vec![false; scene.workload.kinds.len()];
        for kind in &choice.low {
            if let Some(low) = low.get_mut(kind.index()) {
                *low = true;
            }
        }
        let limits = scene.storages.iter().flat_map(|storage| storage.limits()).collect();
        let mut sim = Self {
            lanes: Lanes::of(scene),
            flows: F::new(limits, choice.nodes),
            shapes: Shapes::new(),
            works: Vec::new(),
            cost: Cost::new(scene),
            room: Room::new(scene.nodes, choice.nodes, choice.slots),
            waiting: Waiting::new(low, tasks as u32),
            used: Used::all(scene, &homes, choice.nodes),
            held: vec![Held::default(); sets * pipelines],
            spilled: false,
            reserve: Vec::new(),
            admitted: vec![false; pipelines],
            left: Vec::with_capacity(tasks * pipelines),
            undone: tasks * pipelines,
            done: vec![false; tasks * pipelines],
            copies: Copies::default(),
            begin: 0.0,
            running: Vec::new(),
            spare: Vec::new(),
            tasks: Vec::with_capacity(tasks * pipelines),
            tiers: vec![TierOutcome::default(); scene.tiers.len()],
            now: 0.0,
            scene,
            choice,
            homes,
            policy,
            watch,
        };
        for _ in 0..pipelines {
            sim.left.extend_from_slice(&scene.waits);
        }
        sim.price_all();
        sim.hold_inputs();
        sim.copy_ahead();
        sim
    }

    fn run(&mut self) -> Result<(), NotPossible> {
        let mut arrived = 0;
        let mut done = Vec::new();
        loop {
            while arrived < self.choice.pipelines && self.arrival(arrived) <= self.now {
                self.arrive(arrived);
                arrived += 1;
            }
            self.start_all()?;
            let mut next = self.flows.next(self.now, &self.shapes);
            if arrived < self.choice.pipelines {
                next = next.min(self.arrival(arrived));
            }
            if next == f64::INFINITY {
                break;
            }
            self.now = next.max(self.now);
            self.flows.done(self.now, &mut done, &self.shapes);
            for flow in done.drain(..) {
                self.step_done(flow)?;
            }
        }
        if self.undone > 0 {
            return Err(self.stuck());
        }
        Ok(())
    }

    fn arrival(&self, pipeline: u32) -> f64 {
        self.begin + f64::from(pipeline) * self.choice.stagger.get()
    }

    fn outcome(self) -> Outcome {
        let slots = f64::from(self.choice.nodes) * f64::from(self.choice.slots);
        let busy: f64 = self.tasks.iter().map(|task| task.ended.get() - task.started.get()).sum();
        let end = self.tasks.iter().map(|task| task.ended.get()).fold(0.0, f64::max);
        let rows = self.scene.tiers.iter().zip(self.tiers).zip(&self.used);
        let tiers = rows.map(|((row, tier), used)| {
            let peak_bytes_per_node = used.peak_per_node(self.choice.nodes);
            let peak_bytes = forebay_model::ByteCount(used.peak);
            (row.id.clone(), TierOutcome { peak_bytes, peak_bytes_per_node, ..tier })
        });
        Outcome {
            makespan: Seconds(end),
            utilisation: if end > 0.0 { busy / (slots * end) } else { 0.0 },
            tiers: tiers.collect(),
            tasks: self.tasks,
        }
    }
}
