//! `forebay summary`: the words at the end of a run, again.

use std::path::{Path, PathBuf};

use forebay_model::Run;
use forebay_model::summary::Summary;

use crate::exit::CommandError;
use crate::{console, runs, summary_text};

/// Options of `forebay summary`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  forebay summary                          the newest run here\n  \
    forebay summary a.run filer.run          with what `forebay sample` saw on other machines"
)]
pub(crate) struct Args {
    /// A run file; without it, the newest run here
    run: Option<PathBuf>,
    /// What `forebay sample` wrote meanwhile, on servers and other nodes
    #[arg(value_name = "SAMPLES")]
    samples: Vec<PathBuf>,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let path = args.run.clone().map_or_else(runs::newest_run, Ok)?;
    let (_, summary) = summarize_run(&path, &args.samples)?;
    let text = match args.json {
        true => summary_json(&summary) + "\n",
        false => summary_text::render_summary(&summary, console::terminal_width(), false),
    };
    console::print(&text);
    Ok(0)
}

/// Adds a run up, with what was sampled elsewhere meanwhile.
pub(crate) fn summarize_run(
    path: &Path,
    samples: &[PathBuf],
) -> Result<(Run, Summary), CommandError> {
    let stop = |error: forebay_model::Error| {
        CommandError::new(1, error.to_string(), "`forebay run -o FILE -- COMMAND` makes a run file")
    };
    let run = Run::open(path).map_err(stop)?;
    let others = samples.iter().map(|path| Run::open(path)).collect::<Result<Vec<_>, _>>();
    let others = others.map_err(|error| {
        CommandError::new(1, error.to_string(), "`forebay sample -o FILE` makes a file of samples")
    })?;
    let summary = Summary::with_other_machines(&run, &others).map_err(stop)?;
    Ok((run, summary))
}

/// The summary as one line of JSON.
pub(crate) fn summary_json(summary: &Summary) -> String {
    serde_json::to_string(summary).expect("a summary is plain data")
}
