//! `forebay summary`: the words at the end of a run, again.

use std::io::Write;
use std::path::{Path, PathBuf};

use forebay_model::Run;
use forebay_model::summary::Summary;

use crate::exit::Stop;
use crate::{say, summary_text};

/// Options of `forebay summary`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: forebay summary .forebay/latest.run")]
pub(crate) struct Args {
    /// A run file
    run: PathBuf,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let summary = read(&args.run)?;
    let text = match args.json {
        true => json(&summary) + "\n",
        false => summary_text::render(&summary, say::width(), false),
    };
    // Whoever reads may have seen enough (`| head`).
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(0)
}

/// Adds a run up.
pub(crate) fn read(path: &Path) -> Result<Summary, Stop> {
    let stop = |error: forebay_model::Error| {
        Stop::new(1, error.to_string(), "`forebay run -o FILE -- COMMAND` makes a run file")
    };
    let run = Run::open(path).map_err(stop)?;
    Summary::of(&run).map_err(stop)
}

/// The summary as one line of JSON.
pub(crate) fn json(summary: &Summary) -> String {
    serde_json::to_string(summary).expect("a summary is plain data")
}
