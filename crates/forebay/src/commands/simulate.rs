//! `forebay simulate`: what a run would come to, without running it.

mod node_losses;

use crate::console;
use crate::exit::CommandError;
use crate::output::{Force, OutputKind, OutputTarget};
use crate::scenario::{Scenario, ScenarioChanges};
use crate::simulated_run_file::write_simulated_run;
use forebay_model::{ByteCount, Seconds, Study};
use forebay_plan::simulate::SimulationEvent;
use forebay_plan::{
    Cost, Interruptions, Outcome, PreparedProblem, Pricer, PurchaseTerms, TierOutcome, simulate,
    simulate_interrupted,
};
use node_losses::NodeLosses;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Options of `forebay simulate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay simulate studies/genomon-corun --pipelines 3\n  \
    forebay simulate a.run --site site.toml --interrupt 3@40s+never      node 3 is taken away")]
pub(crate) struct Args {
    /// A run file, a study's folder, or a workload file
    what: PathBuf,
    #[command(flatten)]
    changes: ScenarioChanges,
    #[command(flatten)]
    losses: NodeLosses,
    /// Where chance comes from: the same seed, the same run
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the simulated run, for `forebay summary` and all that reads runs
    #[arg(short, long, value_name = "RUN")]
    output: Option<PathBuf>,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(crate) struct SimulationReport {
    workload: String,
    pub(crate) makespan_s: f64,
    /// Of that, how long after the last task files come home.
    homecoming_s: f64,
    pub(crate) samples_per_hour: f64,
    /// Slots with a task, as a share of all from start to end.
    pub(crate) utilisation: f64,
    /// Share of the tasks' time that they waited for storage.
    pub(crate) waited_share: f64,
    /// `null`: the site names no prices.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) tiers: BTreeMap<String, TierOutcome>,
    /// Tasks that were done; attempts that were lost are not among them.
    tasks: usize,
    /// Nodes that were taken away before the end.
    interruptions: usize,
    /// Tasks that began again because their node was taken away, each as often as it did.
    tasks_again: usize,
    /// How long they had run until then, together.
    lost_s: f64,
    pipelines: u32,
    policy: &'static str,
    stagger_s: f64,
    nodes: u32,
    seed: u64,
    fitted_parameters: u32,
    /// What the prediction rests on that nobody measured.
    doubts: Vec<String>,
}

impl SimulationReport {
    pub(crate) fn from_outcome(scenario: &Scenario, outcome: &Outcome, seed: u64) -> Self {
        let choice = &scenario.choice;
        let hours = outcome.makespan.get() / 3600.0;
        let sum = |of: fn(&forebay_plan::TaskOutcome) -> Seconds| -> f64 {
            outcome.tasks.iter().map(|task| of(task).get()).sum()
        };
        let busy = sum(|task| task.ended - task.started);
        let rework = outcome.rework();
        let or_none = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Self {
            workload: scenario.workload.name.clone(),
            makespan_s: outcome.makespan.get(),
            homecoming_s: outcome.homecoming.get(),
            samples_per_hour: or_none(f64::from(choice.pipelines), hours),
            utilisation: outcome.utilisation,
            waited_share: or_none(sum(|task| task.waited), busy),
            cost_usd: total_cost(scenario, outcome).map(|cost| cost.total.get()),
            tiers: outcome.tiers.iter().map(|(id, tier)| (id.to_string(), *tier)).collect(),
            tasks: outcome.tasks.len() - rework.tasks,
            interruptions: 0,
            tasks_again: rework.tasks,
            lost_s: rework.lost.get(),
            pipelines: choice.pipelines,
            policy: choice.policy.0,
            stagger_s: choice.stagger.get(),
            nodes: choice.nodes,
            seed,
            fitted_parameters: scenario.study.as_ref().map_or(0, Study::parameter_count),
            doubts: scenario.workload.doubts.iter().map(|doubt| doubt.what.clone()).collect(),
        }
    }

    /// `asked`: how often nodes were to be taken away.
    fn in_words(&self, asked: usize) -> String {
        let mut out = String::new();
        let time = Seconds(self.makespan_s);
        let home = match Seconds(self.homecoming_s) {
            Seconds(0.0) => String::new(),
            home => format!(", of them {home} after the last task, to write files back"),
        };
        let _ = writeln!(out, "{}: {time} (simulated){home}", self.workload);
        let _ = writeln!(
            out,
            "  {} tasks of {} pipelines on {} nodes, policy {}: {:.2} samples an hour, {:.1} % of \
             slots busy, {:.1} % of task time waiting for storage",
            self.tasks,
            self.pipelines,
            self.nodes,
            self.policy,
            self.samples_per_hour,
            self.utilisation * 100.0,
            self.waited_share * 100.0
        );
        if asked > 0 {
            let _ = writeln!(
                out,
                "  {} of {asked} interruptions before the end: {} tasks began again, {} of their work \
                 was lost",
                self.interruptions,
                self.tasks_again,
                Seconds(self.lost_s)
            );
        }
        let _ = writeln!(
            out,
            "  {:<16} {:>10} {:>10} {:>15}",
            "tier", "read", "written", "peak per node"
        );
        for (name, tier) in &self.tiers {
            let peak = ByteCount(tier.peak_bytes_per_node as u64).to_string();
            let (read, written) = (tier.read_bytes.to_string(), tier.written_bytes.to_string());
            let _ = writeln!(out, "  {name:<16} {read:>10} {written:>10} {peak:>15}");
        }
        if self.fitted_parameters > 0 {
            let _ = writeln!(out, "  {} parameters were fitted", self.fitted_parameters);
        }
        for doubt in &self.doubts {
            let _ = writeln!(out, "  not measured: {doubt}");
        }
        out
    }
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let place = args.output.as_deref().map(|path| {
        let place = OutputTarget::claim(path, OutputKind::Run, args.force)?;
        place.apart_from(std::slice::from_ref(&args.what))
    });
    let place = place.transpose()?;
    let scenario = Scenario::from_path(&args.what, &args.changes)?;
    if let Some(place) = &place {
        console::remove_when_interrupted(&place.part_path());
    }
    console::when_interrupted(
        "nothing is left of this simulation",
        "start it again; fewer --pipelines are simulated sooner",
    );
    let losses = args.losses.on_nodes(scenario.choice.nodes).map_err(impossible_error)?;
    let (outcome, interruptions) = simulate_with_losses(&scenario, losses)?;
    if let Some(place) = &place {
        let scene = prepare_problem(&scenario)?;
        let cost = total_cost(&scenario, &outcome);
        let came = (&outcome, cost.as_ref());
        write_simulated_run(place, &scene, &scenario.choice, came, (args.seed, "simulate"))?;
    }
    let simulated = SimulationReport {
        interruptions,
        ..SimulationReport::from_outcome(&scenario, &outcome, args.seed)
    };
    if args.json {
        println!("{}", serde_json::to_string(&simulated).expect("an outcome is plain data"));
    } else {
        print!("{}", simulated.in_words(args.losses.count()));
    }
    Ok(0)
}

/// What it costs in all, by the study's price sheet, else by Forebay's own.
fn total_cost(scenario: &Scenario, outcome: &Outcome) -> Option<Cost> {
    let prices = match &scenario.prices {
        Some(prices) => prices,
        None => &crate::storages::own_prices().ok()?,
    };
    let (site, work) = (&scenario.site, &scenario.workload);
    let pricer = Pricer::new(site, work, prices, PurchaseTerms::default()).ok()??;
    Some(pricer.cost_of_outcome(&scenario.choice, outcome, None))
}

fn prepare_problem(scenario: &Scenario) -> Result<PreparedProblem<'_>, CommandError> {
    let scene =
        PreparedProblem::new(&scenario.site, &scenario.workload).map_err(impossible_error)?;
    Ok(match scenario.own {
        Some(own) => scene.with_own_cost(own),
        None => scene,
    })
}

/// Simulates it while nodes are taken away; with how many were before the end.
fn simulate_with_losses(
    scenario: &Scenario,
    losses: Interruptions,
) -> Result<(Outcome, usize), CommandError> {
    let mut taken = 0;
    let mut watch = |_: Seconds, what: &SimulationEvent<'_>| {
        taken += usize::from(matches!(what, SimulationEvent::Interrupted { .. }));
    };
    let problem = prepare_problem(scenario)?;
    let outcome = simulate_interrupted(&problem, &scenario.choice, losses, &mut watch);
    Ok((outcome.map_err(impossible_error)?, taken))
}

/// Simulates it.
pub(crate) fn simulate_scenario(scenario: &Scenario, seed: u64) -> Result<Outcome, CommandError> {
    simulate(&prepare_problem(scenario)?, &scenario.choice, seed).map_err(impossible_error)
}

fn impossible_error(why: forebay_plan::SimulationError) -> CommandError {
    CommandError::new(
        1,
        why.to_string(),
        "change the site, the rules or the options, and try again",
    )
}
