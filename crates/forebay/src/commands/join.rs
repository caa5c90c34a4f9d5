//! `forebay join`: run files of several nodes become one.

use std::path::PathBuf;

use crate::console;
use crate::exit::CommandError;
use crate::joining::{join_files, say_report};
use crate::output::{Force, OutputKind, OutputTarget};
use crate::runs;

/// Options of `forebay join`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    forebay join n1.run n2.run n3.run -o all.run\n  \
    forebay join head.run jobs/ -o all.run       all run files of a folder\n\n\
    The first run gives the clock, and if the others are its jobs (forebay run --jobs), the \
    command.\n\n\
    Exit codes: 0; 1 if some of the files are not in it (the rest is), if there is nothing to \
    join, or it can't be written.")]
pub(crate) struct Args {
    /// Run files, or folders of them
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Where the joined run goes
    #[arg(short, long, value_name = "RUN")]
    output: PathBuf,
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    force: Force,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    let mut files = Vec::new();
    for path in &args.runs {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let found = runs::list_runs(path).map_err(|error| {
            let message = format!("{} can't be read: {error}", path.display());
            CommandError::new(1, message, "name run files, or a folder of them")
        })?;
        files.extend(found);
    }
    let place = OutputTarget::claim(&args.output, OutputKind::Run, args.force)?;
    let place = place.apart_from(&files)?;
    let (report, nodes) = join_files(&files, &[], &place)?;
    if args.json {
        let left_out: Vec<_> = report
            .left_out
            .iter()
            .map(|(path, error)| {
                serde_json::json!({ "run": path.to_string_lossy(), "why": error.to_string() })
            })
            .collect();
        let nodes: Vec<_> = nodes
            .iter()
            .map(|node| {
                serde_json::json!({
                    "name": node.name,
                    "runs": node.runs,
                    "clock_shift_us": node.clock_shift_us,
                    "clock_shift_least_us": node.clock_shift_least_us,
                    "clock_shift_most_us": node.clock_shift_most_us,
                })
            })
            .collect();
        println!(
            "{}",
            serde_json::json!({
                "run": args.output.to_string_lossy(),
                "runs": report.runs,
                "nodes": nodes,
                "processes_seen_twice": report.processes_seen_twice,
                "contradicting_clocks": report.contradicting_clocks,
                "left_out": left_out,
            })
        );
    } else {
        say_report(&report, &nodes);
        console::note(&format!("the joined run is in {}", args.output.display()));
    }
    Ok(i32::from(!report.left_out.is_empty()))
}
