//! Run files of one pipeline become one, and people are told how they fit. What it is not: it looks
//! for no run files.

use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::thread::Scope;

use forebay_model::run::{JoinPart, JoinReport, LostJob, NodeRow, PartOpener};
use forebay_model::{Run, RunWriter};

use crate::console;
use crate::exit::CommandError;
use crate::output::OutputTarget;

/// Joins run files, of which the first counts most, and puts the whole in its place. Jobs
/// that are `lost` have none.
pub(crate) fn join_files(
    files: &[PathBuf],
    lost: &[LostJob],
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
    let (writer, report) =
        std::thread::scope(|scope| RunWriter::join_runs(&part, open_ahead(scope, files), lost))
            .map_err(stop)?;
    let nodes = Run::open(&part).and_then(|run| run.nodes());
    let copied = nodes.and_then(|nodes| place.commit_run(&writer).map(|()| nodes));
    // It is Forebay's own, whatever came of it.
    let _ = writer.remove();
    Ok((report, copied.map_err(stop)?))
}

/// Run files that are open before it is their turn, of each thread that opens them.
const AHEAD: usize = 8;
/// Threads that open them; one more copies.
const OPENERS_MOST: usize = 4;

/// Opens run files, some ahead of who takes them in turn.
fn open_ahead<'scope>(
    scope: &'scope Scope<'scope, '_>,
    files: &'scope [PathBuf],
) -> impl Iterator<Item = (PathBuf, forebay_model::Result<JoinPart>)> + 'scope {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let opener = PartOpener::default();
    let openers = cpus.min(OPENERS_MOST).min(files.len()).max(1);
    let opened: Vec<_> = (0..openers)
        .map(|first| {
            let (sender, receiver) = sync_channel(AHEAD);
            let opener = opener.clone();
            scope.spawn(move || {
                for file in files.iter().skip(first).step_by(openers) {
                    if sender.send(opener.open(file)).is_err() {
                        return; // Nobody takes any more.
                    }
                }
            });
            receiver
        })
        .collect();
    files.iter().enumerate().map_while(move |(at, file)| {
        // A thread that is gone has panicked, which the scope passes on.
        opened[at % openers].recv().ok().map(|part| (file.clone(), part))
    })
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
