//! `forebay explain`: why a plan is as it is, or where the time of a run went, in sentences.

use std::path::{Path, PathBuf};

use forebay_plan::told::{Plan, SCHEMA, explain};

use super::plan;
use crate::exit::Stop;
use crate::say;

/// So many tasks and classes of files of a run are told of.
const MOST: usize = 3;

/// Options of `forebay explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay explain rules.plan.json\n\n\
    Exit codes: 0, or 1 if the file is neither a plan, nor rules of one, nor a run.")]
pub(crate) struct Args {
    /// What `forebay plan -o RULES` wrote (RULES, or the .plan.json beside it), or a run file
    file: PathBuf,
    /// Tell of all files, tasks and choices, not of the most important ones only
    #[arg(long)]
    all: bool,
    /// Print JSON on standard output: a list of sentences, with all there is to tell of a plan
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let plan = plan_of(&args.file)?;
    if let Some(plan) = plan.as_ref().filter(|_| !args.json) {
        print!("{}", plan::explained(plan, args.all, say::width()));
        return Ok(0);
    }
    let sentences = match plan {
        Some(plan) => explain(&plan),
        None => of_run(&args.file, args.all)?,
    };
    if args.json {
        println!("{}", serde_json::to_string(&sentences).expect("texts are plain data"));
        return Ok(0);
    }
    let mut text = String::new();
    sentences.iter().for_each(|sentence| plan::push(&mut text, sentence, say::width()));
    print!("{text}");
    Ok(0)
}

/// The plan in this file or beside these rules; `None`: it is something else.
fn plan_of(path: &Path) -> Result<Option<Plan>, Stop> {
    let rules = path.extension().is_some_and(|ending| ending == "toml");
    let path = if rules { plan::beside(path, ".plan.json") } else { path.to_owned() };
    if path.extension().is_none_or(|ending| ending != "json") {
        return Ok(None);
    }
    let stop = |why: String| {
        let next = "`forebay plan RUN --site FILE -o RULES` writes a plan";
        Stop::new(plan::NO_PLAN, format!("{}: {why}", path.display()), next)
    };
    let text = std::fs::read_to_string(&path).map_err(|error| stop(error.to_string()))?;
    let plan: Plan = serde_json::from_str(&text).map_err(|error| stop(error.to_string()))?;
    if plan.schema != SCHEMA {
        return Err(stop("a newer Forebay wrote it".to_owned()));
    }
    Ok(Some(plan))
}

/// Where the time of a run went.
fn of_run(path: &Path, all: bool) -> Result<Vec<String>, Stop> {
    let summary = super::summary::read(path)?;
    let mut told = Vec::new();
    let waited = match summary.waited_share {
        Some(share) => format!("tasks waited for storage in {:.0} % of their time", share * 100.0),
        None => format!("tasks waited {} for storage, summed", summary.waited_us),
    };
    told.push(format!("It took {}; {waited}.", summary.wall_us));
    if summary.hidden {
        told.push("Reads and writes went past Forebay: what they took is not in it.".to_owned());
    }
    let most = if all { usize::MAX } else { MOST };
    for task in summary.tasks.iter().filter(|task| !task.driver).take(most) {
        let wall = task.wall_us.map(|wall| format!(" of {wall}")).unwrap_or_default();
        let waited =
            task.waited_us.map_or_else(|| "not known how long".to_owned(), |w| w.to_string());
        told.push(format!("{} ({}): {waited} waited{wall}.", task.name, task.count));
    }
    for class in summary.classes.iter().take(most) {
        told.push(format!("Files of {:?} took {}, summed.", class.pattern, class.time_us));
    }
    if let Some(op) = &summary.costliest {
        told.push(format!("The costliest kind of operation is {}.", op.op));
    }
    for elsewhere in &summary.not_seen {
        told.push(format!("What {} started elsewhere was not seen.", elsewhere.program));
    }
    told.extend(summary.advice.map(|advice| advice.sentence));
    Ok(told)
}
