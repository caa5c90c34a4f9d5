//! `forebay replay`: what a recorded run did to storage, once more, without its tools.

mod data_calls;
mod directory_setup;
mod lane_progress;
mod lane_threads;
mod metadata_calls;
mod noise;
mod prepare;
mod replay_report;
mod step_execution;

use std::path::{Path, PathBuf};
use std::time::Instant;

use forebay_model::Run;
use forebay_plan::replay::{ReplayScript, script_from_run};

use crate::exit::{CommandError, NOTHING_RUN};
use lane_threads::ScriptPlayer;
use step_execution::StepExecutor;

/// Options of `forebay replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay replay -C /mnt/nfs/me/empty day1.run\n  \
    forebay replay --no-think -C /scratch/empty day1.run\n  \
    forebay bench --on local,nfs=/mnt/nfs/me --replay day1.run\n\n\
    Files that the run read and did not make are made first; that time does not count. What is \
    written is random. The last line on standard output is the time that the replay took.\n\n\
    Exit codes: 0; 1 if storage refused something, or is full; 125 if nothing was done.")]
pub(crate) struct Args {
    /// The run to replay; one with --trace every-read tells most
    run: PathBuf,
    /// Where: a directory with nothing in it
    #[arg(short = 'C', value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// So many times as fast a computer: the time between operations is divided by it
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_speed)]
    speed: f64,
    /// No time between operations: what is measured is I/O alone
    #[arg(long, conflicts_with = "speed")]
    no_think: bool,
    /// For what is written, and where random reads go
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Only make what must be there before
    #[arg(long, conflicts_with = "prepared")]
    prepare: bool,
    /// It was made before, by --prepare
    #[arg(long)]
    prepared: bool,
    /// What was done, as data
    #[arg(long)]
    json: bool,
}

fn parse_speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (1e-3..=1e6).contains(&speed) => Ok(speed),
        _ => Err("a number, from 0.001 to 1000000".to_owned()),
    }
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let (name, script) = read_script(&args.run)?;
    let root = prepare::open_empty_directory(&args.directory, args.prepared, &args.run)?;
    crate::console::when_interrupted(
        &format!("what it made is in {}", args.directory.display()),
        "remove that before the next replay, which needs a directory with nothing in it",
    );
    let doer = StepExecutor::new(root, &script, args.seed);
    if !args.prepared {
        prepare::prepare_inputs(&doer, &script, &args.directory)?;
    }
    if args.prepare {
        return prepare::write_mark(&doer, &args.run).map(|()| 0);
    }
    let think = if args.no_think { 0.0 } else { 1.0 / args.speed };
    let began = Instant::now();
    let play = ScriptPlayer::new(&script, &doer, think);
    play.play_all()?;
    replay_report::print_replay(args, &name, &script, &play, began.elapsed().as_secs_f64());
    Ok(0)
}

/// The command of a run, and its script.
pub(crate) fn read_script(path: &Path) -> Result<(String, ReplayScript), CommandError> {
    let next = "`forebay run --trace every-read -o FILE -- COMMAND` records one";
    let stop = |why: String| CommandError::new(NOTHING_RUN, why, next);
    let run = Run::open(path).map_err(|error| stop(error.to_string()))?;
    let header = run.header().map_err(|error| stop(error.to_string()))?;
    let words = header.command.iter().map(|word| String::from_utf8_lossy(word));
    let name = words.collect::<Vec<_>>().join(" ");
    let script = script_from_run(&run).map_err(|error| stop(error.to_string()))?;
    Ok((name, script))
}
