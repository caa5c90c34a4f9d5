//! `forebay export`: what a run or a workload file says there is to do, for other tools.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use forebay_plan::import::write_wfformat;

use crate::exit::Stop;
use crate::{say, scenario};

/// Options of `forebay export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Formats:\n  \
    wfformat   WfFormat 1.5 of WfCommons: tasks with the time that they compute, and files\n\n\
    Example: forebay export a.run --format wfformat -o a.json\n\n\
    Exit codes: 0, or 1 if there is nothing to export, or it can't be written.")]
pub(crate) struct Args {
    /// A run file, a workload file, or a study's folder
    what: PathBuf,
    /// In which form
    #[arg(long, value_parser = PossibleValuesParser::new(["wfformat"]), default_value = "wfformat")]
    format: String,
    /// Where it goes; without it, to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<i32, Stop> {
    let work = scenario::workload(&args.what)?;
    let text = write_wfformat(&work) + "\n";
    let Some(path) = &args.output else {
        print!("{text}");
        return Ok(0);
    };
    let same = |path: &PathBuf| path.canonicalize().ok();
    if same(path).is_some() && same(path) == same(&args.what) {
        let message = format!("{} would take its own place", path.display());
        return Err(Stop::new(1, message, "name another file after -o"));
    }
    std::fs::write(path, text).map_err(|error| {
        let next = "write to a directory that is there and yours";
        Stop::new(1, format!("{}: {error}", path.display()), next)
    })?;
    let (tasks, path) = (work.tasks.len(), path.display());
    say::note(&format!("{tasks} tasks as {} are in {path}", args.format));
    Ok(0)
}
