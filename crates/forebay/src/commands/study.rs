//! `forebay study`: a published experiment simulated, row by row, beside what was published.

mod page;

use crate::commands::simulate::{Simulated, outcome};
use crate::exit::Stop;
use crate::scenario::{Changes, Scenario};
use forebay_model::study::{Expected, Role};
use forebay_model::{Seconds, Study};
use forebay_plan::Outcome;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Options of `forebay study`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay study studies/genomon-corun")]
pub(crate) struct Args {
    /// Folders of studies
    #[arg(required = true)]
    studies: Vec<PathBuf>,
    /// Print JSON on standard output, one line for each study
    #[arg(long)]
    json: bool,
}

/// A row, compared.
#[derive(Debug, Serialize)]
struct Row {
    setting: String,
    what: String,
    published: Option<f64>,
    /// `null`: the setting is refused, and `note` says why.
    reproduced: Option<f64>,
    error: Option<f64>,
    role: &'static str,
    /// Within the tolerance; `null` for rows that nobody published.
    holds: Option<bool>,
    note: Option<String>,
}

/// A study, compared.
#[derive(Debug, Serialize)]
struct Compared {
    name: String,
    source: String,
    fitted_parameters: u32,
    rows: Vec<Row>,
}

/// How many bytes are a GiB.
const GIB: f64 = (1_u64 << 30) as f64;

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    for folder in &args.studies {
        let scenario = Scenario::read(folder, &Changes::default())?;
        let Some(study) = scenario.study else {
            let why = format!("{} is no folder of a study", folder.display());
            return Err(Stop::new(1, why, "a study has a file study.toml"));
        };
        let rows = study.expected.iter().map(|row| compare(folder, &study, row));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        if args.json {
            let (name, source) = (study.name.clone(), study.source.clone());
            let compared = Compared { name, source, fitted_parameters: study.parameters(), rows };
            println!("{}", serde_json::to_string(&compared).expect("a study is plain data"));
        } else {
            page::print(&study, &rows);
        }
    }
    Ok(0)
}

fn compare(folder: &Path, study: &Study, row: &Expected) -> Result<Row, Stop> {
    let changes = Changes {
        site: row.site.as_ref().map(|name| folder.join(name)),
        rules: row.rules.as_ref().map(|name| folder.join(name)),
        workload: row.workload.as_ref().map(|name| folder.join(name)),
        policy: row.policy.clone(),
        pipelines: row.pipelines,
        stagger: row.stagger,
        ..Changes::default()
    };
    let scenario = Scenario::read(folder, &changes)?;
    let (figure, refused) = match outcome(&scenario, 0) {
        Ok(outcome) => (Some(figure(&scenario, &outcome, &row.what)?), None),
        Err(stop) => (None, Some(stop.message)),
    };
    let error = figure.zip(row.published).map(|(figure, published)| figure / published - 1.0);
    Ok(Row {
        setting: setting(study, row),
        what: row.what.clone(),
        published: row.published,
        reproduced: figure,
        error,
        role: match row.role {
            Role::Fitted => "fitted",
            Role::Predicted => "predicted",
            Role::Model => "model",
        },
        holds: row.published.map(|_| error.is_some_and(|error| error.abs() <= row.tolerance)),
        note: refused.or_else(|| row.note.clone()),
    })
}

fn setting(study: &Study, row: &Expected) -> String {
    let mut words = vec![format!("{} x", row.pipelines.unwrap_or(study.pipelines))];
    words.extend(row.policy.clone());
    words.extend(row.stagger.map(|time: Seconds| format!("stagger {time}")));
    let stem = |name: &String| name.trim_end_matches(".toml").to_owned();
    words.extend(row.workload.as_ref().map(stem));
    words.extend(row.site.as_ref().map(stem));
    words.extend(row.rules.as_ref().map(stem));
    words.join(", ")
}

/// One figure of an outcome.
fn figure(scenario: &Scenario, outcome: &Outcome, what: &str) -> Result<f64, Stop> {
    let simulated = Simulated::of(scenario, outcome, 0);
    let unknown = |what: &str| {
        Stop::new(1, format!("a study asks for {what:?}, which no outcome has"), "see FORMATS.md")
    };
    if let Some(tier) = what.strip_prefix("gib_per_node.") {
        let tier = simulated.tiers.get(tier).ok_or_else(|| unknown(what))?;
        return Ok(tier.peak_bytes_per_node / GIB);
    }
    if let Some(tier) = what.strip_prefix("gib_read.") {
        let tier = simulated.tiers.get(tier).ok_or_else(|| unknown(what))?;
        return Ok(tier.read_bytes.get() as f64 / GIB);
    }
    if let Some((how, kind)) = what.split_once("_s.") {
        let kinds = &scenario.workload.kinds;
        let of = outcome.tasks.iter().filter(|task| {
            kinds[scenario.workload.tasks[task.task.index()].kind.index()].name == kind
        });
        let times: Vec<f64> = of.map(|task| (task.ended - task.started).get()).collect();
        return match how {
            "mean" if !times.is_empty() => Ok(times.iter().sum::<f64>() / times.len() as f64),
            "slowest" if !times.is_empty() => Ok(times.into_iter().fold(0.0, f64::max)),
            _ => Err(unknown(what)),
        };
    }
    match what {
        "hours" => Ok(simulated.makespan_s / 3600.0),
        "samples_per_hour" => Ok(simulated.samples_per_hour),
        "utilisation_pct" => Ok(simulated.utilisation * 100.0),
        "usd" => simulated.cost_usd.ok_or_else(|| unknown(what)),
        "first_sample_hours" => Ok(first(outcome) / 3600.0),
        _ => Err(unknown(what)),
    }
}

/// When the first pipeline is done.
fn first(outcome: &Outcome) -> f64 {
    let of = outcome.tasks.iter().filter(|task| task.pipeline == 0);
    of.map(|task| task.ended.get()).fold(0.0, f64::max)
}
