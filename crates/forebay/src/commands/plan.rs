//! `forebay plan`: from a run to rules, with reasons.

mod choice_evaluator;
mod plan_files;
mod plan_inputs;
mod plan_text;
mod runs;
mod tried;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use forebay_model::Seconds;
use forebay_plan::bound::LowerBounds;
use forebay_plan::report::{ReportContext, build_plan};
use forebay_plan::search::{Goal, SearchRequest, find_best_choice};
use forebay_plan::search_space::SearchSpace;
use forebay_plan::{Choice, PreparedProblem, PurchaseTerms};

use crate::exit::CommandError;
use crate::interrupt_signals::InterruptSignals;
use crate::output::{Force, OutputKind, OutputTarget};
use crate::simulated_run_file::write_simulated_run;
use choice_evaluator::SimulationEvaluator;
pub(super) use plan_files::path_beside;
use plan_inputs::PlanInputs;
pub(super) use plan_text::{push_sentence, render_explanation};

/// Somebody ended the search before its time.
const INTERRUPTED: i32 = 130;
/// Nothing could be planned.
pub(super) const NO_PLAN: i32 = 1;

/// Options of `forebay plan`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: forebay plan a.run --site sites/aws.toml --goal cheapest -o rules.toml\n\n\
    Beside RULES it writes what `forebay explain RULES` tells, RULES with .plan.json for its ending.\n\
    Exit codes: 0 a plan was made, 1 none could be (a file can't be read, no choice is possible), \
    2 wrong usage, 130 the search was interrupted, and the best so far is told and written."
)]
pub(crate) struct Args {
    /// Run files of one workflow; of several the middle one is planned, and their spread counts as
    /// doubt
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// The tiers and machines to plan for (`forebay manual formats site`)
    #[arg(long, value_name = "FILE", value_parser = crate::placement::named_sites::site_file())]
    site: PathBuf,
    /// What matters most: fastest, cheapest, or throughput
    #[arg(long, value_name = "GOAL", default_value = "fastest", value_parser = parse_goal)]
    goal: Goal,
    /// How many times the workflow is to be done
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    /// Time to look for something better, such as 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    budget: Seconds,
    /// For all that is random: the same number gives the same plan if the budget does not end
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// The tier where the project's directory is; without it, the storage of the run as measured
    #[arg(long, value_name = "TIER")]
    project: Option<String>,
    /// A price sheet instead of Forebay's own (`forebay manual formats price`)
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Only machines that are cheaper and may be taken away; else both kinds are tried, if the price
    /// sheet has such
    #[arg(long, conflicts_with = "on_demand")]
    spot: bool,
    /// Only machines that stay
    #[arg(long)]
    on_demand: bool,
    /// Results are downloaded over the internet
    #[arg(long)]
    download: bool,
    /// Write the rules here
    #[arg(short, long, value_name = "RULES")]
    output: Option<PathBuf>,
    /// Write the run that the plan predicts, for `forebay summary` and all that reads runs
    #[arg(long, value_name = "RUN")]
    predicted: Option<PathBuf>,
    /// Write settings for a workflow engine beside RULES, too: snakemake, nextflow, slurm
    #[arg(long, value_name = "ENGINE", value_delimiter = ',', requires = "output", value_parser = parse_engine)]
    emit: Vec<String>,
    /// Tell of all files and choices, not of the most important ones only
    #[arg(long)]
    all: bool,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

fn parse_goal(word: &str) -> Result<Goal, String> {
    let found = Goal::ALL.iter().find(|(name, _)| *name == word).map(|(_, goal)| *goal);
    found.ok_or_else(|| "it is fastest, cheapest or throughput".to_owned())
}

fn parse_time(word: &str) -> Result<Seconds, String> {
    word.parse().map_err(|error: forebay_model::ParseRealError| error.to_string())
}

fn parse_engine(word: &str) -> Result<String, String> {
    let names: Vec<&str> = forebay_plan::emit::ENGINES.iter().map(|engine| engine.name).collect();
    let found = names.contains(&word).then(|| word.to_owned());
    found.ok_or_else(|| format!("it is one of {}", names.join(", ")))
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let began = Instant::now();
    let files = args
        .output
        .as_ref()
        .map(|path| plan_files::PlanFiles::claim_all(path, args))
        .transpose()?;
    let predicted = args.predicted.as_deref().map(|path| {
        OutputTarget::claim(path, OutputKind::Run, args.force)
            .and_then(|place| place.apart_from(&args.runs))
    });
    let predicted = predicted.transpose()?;
    let ground = PlanInputs::read_inputs(args)?;
    let no = |why: String| {
        CommandError::new(
            NO_PLAN,
            why,
            "other machines or tiers in the site file may make it possible",
        )
    };
    let scene =
        PreparedProblem::new(&ground.site, &ground.workload).map_err(|why| no(why.to_string()))?;
    let scene = scene.with_own_cost(ground.own);
    let terms = PurchaseTerms { download: args.download };
    let frames = ground.configurations_to_try(args)?;
    let mut judge = SimulationEvaluator::new(&scene, &ground, terms, args.seed)?;
    if args.goal == Goal::Cheapest && !judge.knows_prices() {
        return Err(CommandError::new(
            NO_PLAN,
            format!("{} names no prices, so nothing is cheapest", args.site.display()),
            "give its tiers a price, and its nodes an instance (`forebay manual formats site`), or another --goal",
        ));
    }
    let mut space = SearchSpace::new(&ground.site, &ground.workload, &ground.project, &frames);
    let mut bounds = LowerBounds::new(&scene, &space);
    if args.goal == Goal::Fastest {
        // Whoever wants it fastest does not want a task to wait longer than it does now.
        space.drop_longer_waits(|class, option| bounds.waiting_seconds(class, option));
        bounds = LowerBounds::new(&scene, &space);
    }
    let wanted = SearchRequest {
        goal: args.goal,
        samples: args.samples,
        seed: args.seed,
        error: ground.error,
    };
    let budget = args.budget.get();
    // Who has seen enough keeps the best that was found.
    let (ends, mut ended) = (InterruptSignals::block_signals(), false);
    let mut go_on = |_| {
        ended |= ends.wait_for_signal(Duration::ZERO);
        !ended && began.elapsed().as_secs_f64() < budget
    };
    let found = find_best_choice(&space, &bounds, &mut judge, wanted, &mut go_on).map_err(no)?;
    let choice = space.choice_at(&found.chosen);
    let (outcome, cost) = judge.evaluate_choice(&choice).map_err(no)?;
    let (whole, whole_folders) = judge.place_whole_folders(&choice, &outcome, cost.as_ref());
    let start = judge.evaluate_choice(&space.choice_at(&space.all_in_place())).ok();
    let runs: Vec<String> = args.runs.iter().map(|run| run.display().to_string()).collect();
    let sheet = &ground.prices;
    let prices = format!("{} of {}", sheet.sheet, sheet.compiled);
    let mut plan = build_plan(&ReportContext {
        runs: &runs,
        site_name: &args.site.display().to_string(),
        site: &ground.site,
        workload: &ground.workload,
        space: &space,
        bounds: &bounds,
        wanted,
        scatter: ground.scatter,
        computing_error: ground.computing_error,
        learnt_from: &ground.learnt_from,
        found: &found,
        whole_folders: &whole_folders,
        chosen: (&outcome, cost.as_ref()),
        as_it_is: start.as_ref().map(|(outcome, cost)| (outcome, cost.as_ref())),
        prices: cost.is_some().then_some(prices.as_str()),
    });
    plan.doubts.extend(ground.notes.iter().cloned());
    let mut written = match &files {
        Some(files) => {
            let one = Choice { pipelines: 1, ..whole.clone() };
            let (alone, _) = judge.evaluate_choice(&one).map_err(no)?;
            let came = (&outcome, &alone);
            files.write_all(args, &ground, (&whole, &whole_folders), came, &plan)?
        }
        None => Vec::new(),
    };
    if let (Some(place), Some(path)) = (&predicted, &args.predicted) {
        let came = (&outcome, cost.as_ref());
        write_simulated_run(place, &scene, &choice, came, (args.seed, "plan"))?;
        written.push(format!("Predicted run: forebay summary {}", path.display()));
    }
    if args.json {
        println!("{}", serde_json::to_string(&plan).expect("a plan is plain data"));
    } else {
        print!("{}", plan_text::render_plan(&plan, args.all, crate::console::terminal_width()));
        written.iter().for_each(|line| println!("{line}"));
    }
    if ended {
        crate::console::note("interrupted: this is the best that was found so far");
        return Ok(INTERRUPTED);
    }
    Ok(0)
}
