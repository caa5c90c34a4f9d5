//! `forebay explain`: why a plan is as it is, or where the time of a run went, in sentences.

mod chapters;
pub(super) mod file_lifetimes;
mod phrases;
mod run_story;

use std::path::{Path, PathBuf};

use forebay_plan::report::{Plan, SCHEMA, explain_plan};
use serde_json::json;

use super::plan;
use crate::console;
use crate::exit::CommandError;
use run_story::{ExplainedRun, Options};

/// Lines of mails and of narrow terminals: wider ones are not filled.
const COLUMNS: usize = 80;

/// Options of `forebay explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay explain a.run\n  \
    forebay explain a.run filer.run          with what `forebay sample` saw on other machines\n  \
    forebay explain a.run --instance ec2.m6i.large | mail -s 'last night' me\n  \
    forebay explain rules.plan.json          why a plan is as it is\n\n\
    Exit codes: 0, or 1 if the file is neither a plan, nor rules of one, nor a run.")]
pub(crate) struct Args {
    /// What `forebay plan -o RULES` wrote (RULES, or the .plan.json beside it), or a run file
    file: PathBuf,
    /// What `forebay sample` wrote meanwhile, on servers and other nodes
    #[arg(value_name = "SAMPLES")]
    samples: Vec<PathBuf>,
    /// Tell of all files, tasks and choices, not of the most important ones only
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: Options,
    /// Print JSON on standard output: of a plan a list of sentences, of a run its chapters, each
    /// with its sentences and their figures
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let text = match read_plan_file(&args.file)? {
        Some(plan) if args.json => {
            serde_json::to_string(&explain_plan(&plan)).expect("texts are plain data") + "\n"
        }
        Some(plan) => plan::render_explanation(&plan, args.all, console::terminal_width()),
        None => explain_run(args)?,
    };
    console::print(&text);
    Ok(0)
}

/// The plan in this file or beside these rules; `None`: it is something else.
fn read_plan_file(path: &Path) -> Result<Option<Plan>, CommandError> {
    let rules = path.extension().is_some_and(|ending| ending == "toml");
    let path = if rules { plan::path_beside(path, ".plan.json") } else { path.to_owned() };
    if path.extension().is_none_or(|ending| ending != "json") {
        return Ok(None);
    }
    let stop = |why: String| {
        let next = "`forebay plan RUN --site FILE -o RULES` writes a plan";
        CommandError::new(plan::NO_PLAN, format!("{}: {why}", path.display()), next)
    };
    let text = std::fs::read_to_string(&path).map_err(|error| stop(error.to_string()))?;
    let plan: Plan = serde_json::from_str(&text).map_err(|error| stop(error.to_string()))?;
    if plan.schema != SCHEMA {
        return Err(stop("a newer Forebay wrote it".to_owned()));
    }
    Ok(Some(plan))
}

/// Where the time of a run went: a chapter for each thing that there is to tell.
fn explain_run(args: &Args) -> Result<String, CommandError> {
    let story = ExplainedRun::read_run(&args.file, &args.samples, args.all, &args.options)?;
    let told =
        chapters::CHAPTERS.iter().filter_map(|chapter| Some((chapter, (chapter.tell)(&story)?)));
    if args.json {
        let chapters: Vec<_> = told
            .map(|(chapter, told)| {
                let (name, title) = (chapter.name, chapter.title);
                let (sentences, facts) = (told.sentences, told.facts);
                json!({"name": name, "title": title, "sentences": sentences, "facts": facts})
            })
            .collect();
        return Ok(json!({"schema": 1, "chapters": chapters}).to_string() + "\n");
    }
    let mut text = String::new();
    for (chapter, told) in told {
        if !text.is_empty() {
            text.push_str(&format!("\n{}\n", chapter.title));
        }
        let width = console::terminal_width().min(COLUMNS);
        told.sentences.iter().for_each(|sentence| plan::push_sentence(&mut text, sentence, width));
    }
    Ok(text)
}
