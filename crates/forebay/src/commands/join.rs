//! `forebay join`: run files of several nodes become one.

use std::path::PathBuf;

use forebay_model::run::{JoinReport, NodeRow};
use forebay_model::{Run, RunWriter};

use crate::console;
use crate::exit::CommandError;
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
    let (report, nodes) = join_files(&files, 0, &place)?;
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

/// Joins run files, of which the first counts most, and puts the whole in its place. `missing` of
/// the jobs have none.
pub(crate) fn join_files(
    files: &[PathBuf],
    missing: u64,
    place: &OutputTarget,
) -> Result<(JoinReport, Vec<NodeRow>), CommandError> {
    let stop = |error: forebay_model::Error| {
        CommandError::new(
            1,
            error.to_string(),
            "see that all are run files, and that there is room",
        )
    };
    let part = place.part_path();
    let (writer, report) = RunWriter::join_runs(&part, files, missing).map_err(stop)?;
    let nodes = Run::open(&part).and_then(|run| run.nodes());
    let copied = nodes.and_then(|nodes| place.commit_run(&writer).map(|()| nodes));
    // It is Forebay's own, whatever came of it.
    let _ = writer.remove();
    Ok((report, copied.map_err(stop)?))
}

/// How many files, how they fit, and what is not in the whole.
pub(crate) fn say_report(report: &JoinReport, nodes: &[NodeRow]) {
    let count = |count: u64, one: &str| match count {
        1 => format!("1 {one}"),
        more => format!("{more} {one}s"),
    };
    let mut told = format!(
        "{} of {} joined",
        count(report.runs, "run file"),
        count(nodes.len() as u64, "node")
    );
    if report.processes_seen_twice > 0 {
        let twice = count(report.processes_seen_twice, "process").replace("processs", "processes");
        told.push_str(&format!("; {twice} that two of them have counted once"));
    }
    console::note(&told);
    for node in nodes.iter().filter(|node| node.clock_shift_us != 0) {
        let off = node.clock_shift_us as f64 / -1e6;
        let way = if off > 0.0 { "fast" } else { "slow" };
        console::note(&format!(
            "the clock of {} is {:.3} s {way} by the files that it shares with others: its times \
             were set right",
            node.name,
            off.abs()
        ));
    }
    for name in &report.contradicting_clocks {
        console::note(&format!(
            "what files say of the clock of {name} contradicts itself: its times are as they were"
        ));
    }
    for (path, error) in report.left_out.iter().take(LEFT_OUT_SHOWN) {
        console::error(&format!("{} is left out: {error}", path.display()), None);
    }
    if report.left_out.len() > LEFT_OUT_SHOWN {
        let more = report.left_out.len() - LEFT_OUT_SHOWN;
        console::error(&format!("{more} more run files are left out"), None);
    }
}

/// Files that are named when they can't be read.
const LEFT_OUT_SHOWN: usize = 8;
