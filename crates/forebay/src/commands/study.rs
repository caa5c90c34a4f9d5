//! `forebay study`: a published experiment simulated, row by row, beside what was published.

mod figure;
mod page;

use crate::commands::simulate::simulate_scenario;
use crate::exit::CommandError;
use crate::scenario::{Scenario, ScenarioChanges};
use forebay_model::study::{ExpectedFigure, FigureRole, ReferenceFigure, SettingOverrides};
use forebay_model::{Seconds, Study};
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
struct StudyRow {
    setting: String,
    what: String,
    published: Option<f64>,
    /// What we measured or counted ourselves, where nobody published it.
    ours: Option<f64>,
    /// Where the source has words: how the figure should be.
    should: Option<String>,
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
struct ComparedStudy {
    name: String,
    source: String,
    fitted_parameters: u32,
    rows: Vec<StudyRow>,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    for folder in &args.studies {
        let scenario = Scenario::from_path(folder, &ScenarioChanges::default())?;
        let Some(study) = scenario.study else {
            let why = format!("{} is no folder of a study", folder.display());
            return Err(CommandError::new(1, why, "a study has a file study.toml"));
        };
        let mut rows: Vec<StudyRow> = Vec::new();
        for row in &study.expected {
            let before = rows.last().and_then(|row| row.reproduced);
            rows.push(compare_row(folder, &study, row, before)?);
        }
        if args.json {
            let (name, source) = (study.name.clone(), study.source.clone());
            let compared =
                ComparedStudy { name, source, fitted_parameters: study.parameter_count(), rows };
            println!("{}", serde_json::to_string(&compared).expect("a study is plain data"));
        } else {
            page::print_study(&study, &rows);
        }
    }
    Ok(0)
}

fn compare_row(
    folder: &Path,
    study: &Study,
    row: &ExpectedFigure,
    before: Option<f64>,
) -> Result<StudyRow, CommandError> {
    let (mut figure, mut refused) = (None, None);
    match simulate_figure(folder, row)? {
        Ok(found) => figure = Some(found),
        Err(why) => refused = Some(why),
    }
    let number = row.against.reference_value();
    let holds = |figure| row.against.check_figure(figure, before, row.tolerance);
    Ok(StudyRow {
        setting: setting_text(study, row),
        what: row.what.clone(),
        published: number.filter(|_| matches!(row.against, ReferenceFigure::Published(_))),
        ours: number.filter(|_| matches!(row.against, ReferenceFigure::Ours(_))),
        should: expected_text(row.against),
        reproduced: figure,
        error: figure.zip(number).map(|(figure, number)| figure / number - 1.0),
        role: match row.role {
            FigureRole::Fitted => "fitted",
            FigureRole::Predicted => "predicted",
            FigureRole::Model => "model",
        },
        // A setting that is refused reproduces nothing.
        holds: holds(figure.unwrap_or(f64::NAN)),
        note: refused.or_else(|| row.note.clone()),
    })
}

/// The figure of a row, divided by that of the other setting if there is one; or why a setting is
/// refused.
fn simulate_figure(
    folder: &Path,
    row: &ExpectedFigure,
) -> Result<Result<f64, String>, CommandError> {
    let figure = |setting: &SettingOverrides| -> Result<Result<f64, String>, CommandError> {
        let scenario = Scenario::from_path(folder, &changes_of_setting(folder, setting))?;
        match simulate_scenario(&scenario, 0) {
            Ok(outcome) => figure::figure_of_outcome(&scenario, &outcome, &row.what).map(Ok),
            Err(stop) => Ok(Err(stop.message)),
        }
    };
    let first = figure(&row.setting)?;
    let Some(over) = &row.over else { return Ok(first) };
    let second = figure(&over.with_defaults(&row.setting))?;
    Ok(first.and_then(|first| second.map(|second| first / second)))
}

fn changes_of_setting(folder: &Path, setting: &SettingOverrides) -> ScenarioChanges {
    let file = |name: &Option<String>| name.as_ref().map(|name| folder.join(name));
    ScenarioChanges {
        site: file(&setting.site),
        rules: file(&setting.rules),
        workload: file(&setting.workload),
        project: setting.project.clone(),
        policy: setting.policy.clone(),
        pipelines: setting.pipelines,
        nodes: setting.nodes,
        stagger: setting.stagger,
        ..ScenarioChanges::default()
    }
}

/// How a figure should be that nobody published as a number.
fn expected_text(against: ReferenceFigure) -> Option<String> {
    match against {
        ReferenceFigure::Nothing | ReferenceFigure::Published(_) | ReferenceFigure::Ours(_) => None,
        ReferenceFigure::Bounds(least, most) if most == f64::INFINITY => {
            Some(format!(">= {least}"))
        }
        ReferenceFigure::Bounds(0.0, most) => Some(format!("<= {most}")),
        ReferenceFigure::Bounds(least, most) => Some(format!("{least}..{most}")),
        ReferenceFigure::More => Some("more".to_owned()),
    }
}

fn setting_text(study: &Study, row: &ExpectedFigure) -> String {
    let mut words = vec![format!("{} x", row.setting.pipelines.unwrap_or(study.pipelines))];
    words.extend(setting_changes(&row.setting));
    let mut text = words.join(", ");
    if let Some(over) = &row.over {
        let mut words: Vec<String> =
            over.pipelines.map(|number| format!("{number} x")).into_iter().collect();
        words.extend(setting_changes(over));
        text = format!("{text} / {}", words.join(", "));
    }
    text
}

fn setting_changes(setting: &SettingOverrides) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    words.extend(setting.nodes.map(|number| match number {
        1 => "1 node".to_owned(),
        _ => format!("{number} nodes"),
    }));
    words.extend(setting.policy.clone());
    words.extend(setting.stagger.map(|time: Seconds| format!("stagger {time}")));
    let stem = |name: &String| name.trim_end_matches(".toml").to_owned();
    words.extend(setting.site.as_ref().map(stem));
    words.extend(setting.project.clone());
    words.extend(setting.rules.as_ref().map(stem));
    words.extend(setting.workload.as_ref().map(stem));
    words
}
