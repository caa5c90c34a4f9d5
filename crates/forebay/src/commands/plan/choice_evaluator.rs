//! Simulates choices on all cores, and prices what comes of them.

use forebay_model::{FullTierPolicy, Placement, Seconds, TierId, Usd};
use forebay_plan::search::{self, Score};
use forebay_plan::search_space::Configuration;
use forebay_plan::whole_folders::{ProposedFolder, propose_whole_folders, with_whole_folders};
use forebay_plan::{
    Choice, Cost, ExpectedRework, Outcome, PreparedProblem, Pricer, PurchaseTerms,
    WriteBackEstimate, simulate_with_rework,
};

use super::NO_PLAN;
use super::plan_inputs::PlanInputs;
use crate::exit::CommandError;

pub(super) struct SimulationEvaluator<'s> {
    scene: &'s PreparedProblem<'s>,
    project: &'s TierId,
    emptied_folders: &'s [String],
    pricer: Option<Pricer<'s>>,
    homecoming: WriteBackEstimate<'s>,
    threads: usize,
    seed: u64,
}

impl<'s> SimulationEvaluator<'s> {
    pub(super) fn new(
        scene: &'s PreparedProblem<'s>,
        ground: &'s PlanInputs,
        terms: PurchaseTerms,
        seed: u64,
    ) -> Result<Self, CommandError> {
        let prices = &ground.prices;
        let pricer = Pricer::new(scene.site, scene.workload, prices, terms).map_err(|why| {
            CommandError::new(
                NO_PLAN,
                why.to_string(),
                "`forebay manual formats site` says how prices are named; --prices FILE gives others",
            )
        })?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let homecoming = WriteBackEstimate::new(scene.site, scene.workload);
        let (project, emptied_folders) = (&ground.project, &*ground.emptied_folders);
        Ok(Self { scene, project, emptied_folders, pricer, homecoming, threads, seed })
    }

    pub(super) fn knows_prices(&self) -> bool {
        self.pricer.is_some()
    }

    /// What comes of a choice, in full.
    pub(super) fn evaluate_choice(
        &self,
        choice: &Choice,
    ) -> Result<(Outcome, Option<Cost>), String> {
        let (outcome, again) = self.simulate_strictly(choice)?;
        let cost =
            self.pricer.as_ref().map(|pricer| pricer.cost_of_outcome(choice, &outcome, again));
        Ok((outcome, cost))
    }

    /// The choice with the folders as a whole that may be, and these; without them where one does not
    /// fit on its tier as it is, or something would be lost by it.
    pub(super) fn place_whole_folders(
        &self,
        choice: &Choice,
        outcome: &Outcome,
        cost: Option<&Cost>,
    ) -> (Choice, Vec<ProposedFolder>) {
        let folders = propose_whole_folders(choice, self.scene.workload, self.emptied_folders);
        let whole = with_whole_folders(choice, &folders);
        let is_no_worse = || {
            let (as_whole, its_cost) = self.evaluate_choice(&whole).ok()?;
            let sample = |cost: Option<&Cost>| cost.map(|cost| cost.per_sample);
            let is_as_cheap = sample(its_cost.as_ref()) <= sample(cost);
            Some(as_whole.makespan <= outcome.makespan && is_as_cheap)
        };
        if !folders.is_empty() && is_no_worse() == Some(true) {
            return (whole, folders);
        }
        (choice.clone(), Vec::new())
    }

    /// A plan counts on no luck: what does not fit is not possible, though a run would spill it.
    fn simulate_strictly(
        &self,
        choice: &Choice,
    ) -> Result<(Outcome, Option<ExpectedRework>), String> {
        let mut strict = choice.clone();
        for placement in &mut strict.placements {
            placement.full = FullTierPolicy::Fail;
        }
        simulate_with_rework(self.scene, &strict, self.seed).map_err(|why| why.to_string())
    }

    fn score_choice(&self, choice: &Choice) -> Result<Score, String> {
        let (outcome, cost) = self.evaluate_choice(choice)?;
        let per_sample = cost.map(|cost| cost.per_sample);
        Ok(Score { makespan: outcome.makespan, per_sample })
    }
}

impl search::ChoiceEvaluator for SimulationEvaluator<'_> {
    fn score_choices(&mut self, choices: &[Choice]) -> Vec<Result<Score, String>> {
        let each = choices.len().div_ceil(self.threads).max(1);
        let this = &*self;
        std::thread::scope(|scope| {
            let start = |part: &'_ [Choice]| -> Vec<Result<Score, String>> {
                part.iter().map(|choice| this.score_choice(choice)).collect()
            };
            let parts: Vec<_> =
                choices.chunks(each).map(|part| scope.spawn(move || start(part))).collect();
            let done = parts.into_iter().map(|part| part.join().expect("a simulation panicked"));
            done.flatten().collect()
        })
    }

    fn rent_per_second(&self, frame: &Configuration) -> Option<Usd> {
        self.pricer.as_ref().map(|pricer| pricer.rent_per_second(frame.nodes, frame.spot.is_some()))
    }

    fn placement_toll(&self, class: usize, placement: &Placement) -> Usd {
        let pricer = self.pricer.as_ref();
        pricer.map_or(Usd::ZERO, |pricer| pricer.placement_toll(class, placement, self.project))
    }

    fn minimum_delay(&self, frame: &Configuration, class: usize, placement: &Placement) -> Seconds {
        self.homecoming.minimum_write_back_time(class, placement, self.project, frame.nodes)
    }
}
