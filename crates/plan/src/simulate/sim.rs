//! All that a simulation holds while it goes on, how it begins, and what it comes to.

use super::cached_copies::CachedCopies;
use super::node_slots::NodeSlots;
use super::ready_queue::ReadyQueue;
use super::tier_usage::TierUsage;
use super::undetected_losses::UndetectedLosses;
use super::write_back_queue::WriteBackQueue;
use super::{HeldFiles, RunningTask, SimulationObserver, StepWork};
use crate::choice::Choice;
use crate::interruptions::Interruptions;
use crate::outcome::{Outcome, TaskOutcome, TierOutcome};
use crate::policies::Policy;
use crate::prepared_problem::{PreparedProblem, ResolvedChoice, ResourceRates, StepCost};
use crate::share::{FlowEngine, FlowShapes};
use forebay_model::{ByteCount, Seconds};

/// A simulation that goes on.
pub(super) struct Simulation<'a, 's, F, W> {
    pub(super) scene: &'a PreparedProblem<'s>,
    pub(super) choice: &'a Choice,
    pub(super) homes: ResolvedChoice,
    pub(super) policy: &'static Policy,
    pub(super) watch: &'a mut W,
    pub(super) now: f64,
    pub(super) lanes: ResourceRates,
    pub(super) flows: F,
    pub(super) shapes: FlowShapes,
    pub(super) works: Vec<StepWork>,
    pub(super) cost: StepCost,
    pub(super) room: NodeSlots,
    pub(super) waiting: ReadyQueue,
    pub(super) used: Vec<TierUsage>,
    pub(super) held: Vec<HeldFiles>,
    /// Some files that should be at home are in place.
    pub(super) spilled: bool,
    pub(super) drains: WriteBackQueue,
    /// What a pipeline sets apart on each tier, for policies that do, and how many have.
    pub(super) reserve: Vec<u64>,
    pub(super) admitted: Vec<bool>,
    /// Tasks of each pipeline that are not done.
    pub(super) unfinished: Vec<usize>,
    /// For how many tasks each task of each pipeline still waits.
    pub(super) left: Vec<u32>,
    pub(super) undone: usize,
    pub(super) done: Vec<bool>,
    pub(super) copies: CachedCopies,
    /// When the first pipeline begins: copies that are made before take their time.
    pub(super) begin: f64,
    pub(super) interruptions: Interruptions,
    pub(super) undetected: UndetectedLosses,
    /// How many tasks began again.
    pub(super) attempts: usize,
    pub(super) running: Vec<RunningTask>,
    pub(super) spare: Vec<u32>,
    pub(super) tasks: Vec<TaskOutcome>,
    pub(super) tiers: Vec<TierOutcome>,
}

impl<'a, 's, F: FlowEngine, W: SimulationObserver> Simulation<'a, 's, F, W> {
    pub(super) fn new(
        scene: &'a PreparedProblem<'s>,
        choice: &'a Choice,
        homes: ResolvedChoice,
        policy: &'static Policy,
        (interruptions, watch): (Interruptions, &'a mut W),
    ) -> Self {
        let pipelines = choice.pipelines as usize;
        let (tasks, sets) = (scene.workload.tasks.len(), scene.workload.files.len());
        let mut low = vec![false; scene.workload.kinds.len()];
        for kind in &choice.low {
            if let Some(low) = low.get_mut(kind.index()) {
                *low = true;
            }
        }
        let limits = scene.storages.iter().flat_map(|storage| storage.lane_limits()).collect();
        let mut sim = Self {
            lanes: ResourceRates::for_scene(scene),
            flows: F::new(limits, choice.nodes),
            shapes: FlowShapes::new(),
            works: Vec::new(),
            cost: StepCost {
                own: scene.own.filter(|_| homes.needs_forebay()),
                asks_once: scene.own.is_some_and(|own| own.remembers_answers)
                    && homes.packs_files(),
                packs_files: scene.own.is_some() && homes.packs_files(),
                ..StepCost::new(scene)
            },
            room: NodeSlots::new(scene.nodes, choice.nodes, choice.slots),
            waiting: ReadyQueue::new(low, scene.workload, policy.order),
            used: TierUsage::for_all_tiers(scene, &homes, choice.nodes),
            held: vec![HeldFiles::default(); sets * pipelines],
            spilled: false,
            drains: WriteBackQueue::new(&homes, sets * pipelines),
            reserve: Vec::new(),
            admitted: vec![false; pipelines],
            unfinished: vec![tasks; pipelines],
            left: Vec::with_capacity(tasks * pipelines),
            undone: tasks * pipelines,
            done: vec![false; tasks * pipelines],
            copies: CachedCopies::default(),
            begin: 0.0,
            interruptions,
            undetected: UndetectedLosses::default(),
            attempts: 0,
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
        sim.price_all_steps();
        sim.place_inputs();
        sim.prefetch_inputs();
        sim
    }

    /// What it came to.
    pub(super) fn into_outcome(self) -> Outcome {
        let slots = f64::from(self.choice.nodes) * f64::from(self.choice.slots);
        let busy: f64 = self.tasks.iter().map(|task| task.ended.get() - task.started.get()).sum();
        let end = self.tasks.iter().map(|task| task.ended.get()).fold(0.0, f64::max);
        let own = self.scene.own_run_time(&self.homes).get();
        let home = self.drains.last.max(end) + own;
        let rows = self.scene.tiers.iter().zip(self.tiers).zip(&self.used);
        let tiers = rows.map(|((row, tier), used)| {
            let peak_bytes_per_node = used.peak_per_node(self.choice.nodes);
            let peak_bytes = ByteCount(used.peak);
            (row.id.clone(), TierOutcome { peak_bytes, peak_bytes_per_node, ..tier })
        });
        Outcome {
            makespan: Seconds(home),
            homecoming: Seconds(home - end),
            utilisation: if end > 0.0 { busy / (slots * end) } else { 0.0 },
            tiers: tiers.collect(),
            tasks: self.tasks,
        }
    }
}
