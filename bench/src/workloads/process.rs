//! Processes: a shell loop as pipelines have it, and the start and end of a run itself.

use super::{FigureUnit, FileLayout, WorkDirectory, Workload, do_nothing};
use crate::error::{Error, Result};
use crate::measure::Meter;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

const TURNS: u64 = 300;
/// Starts and ends are slow; ten of them give a mean that a busy moment does not spoil.
const STARTS: u64 = 10;

/// Per turn: one file made, one `cat` with `>>`, one test, one `mv`.
const SHELL: &str = r#"
i=0
while [ $i -lt $1 ]; do
    echo "sample $i" > part.$i
    cat part.$i >> all.txt
    [ -s part.$i ] && mv part.$i done.$i
    i=$((i + 1))
done
"#;

/// The workloads that start processes.
pub(super) static WORKLOADS: &[Workload] = &[
    Workload {
        name: "shell-loop",
        operation: "a turn of a shell loop: `>`, cat `>>`, test -s, mv; 2 processes; 300 turns",
        unit: FigureUnit::OpsPerSecond,
        cold: false,
        starts_runs: false,
        over_uring: false,
        layout: FileLayout::Plain,
        setup: do_nothing,
        run: shell_loop,
        verify: check_shell,
        sample_every: 1,
    },
    Workload {
        name: "run-true",
        operation: "start and end: `forebay run -- true` against `true`",
        unit: FigureUnit::MsPerOp,
        cold: false,
        starts_runs: true,
        over_uring: false,
        layout: FileLayout::Plain,
        setup: do_nothing,
        run: run_true,
        verify: do_nothing,
        sample_every: 1,
    },
];

fn shell_loop(place: &WorkDirectory<'_>, meter: &mut Meter) -> Result<()> {
    let turns = place.scale.scaled_ops(TURNS);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", SHELL, "sh", &turns.to_string()]).current_dir(place.path);
    meter.measure_pass(1, |_| run_expecting_success(&mut shell).map(|()| 0))?;
    meter.count_as(turns);
    Ok(())
}

fn check_shell(place: &WorkDirectory<'_>) -> Result<()> {
    let turns = place.scale.scaled_ops(TURNS);
    let text = std::fs::read_to_string(place.path.join("all.txt"))?;
    let right = text.lines().enumerate().all(|(at, line)| line == format!("sample {at}"));
    if !right || text.lines().count() as u64 != turns {
        return Err(Error::check_failed("all.txt does not hold one line for each turn".to_owned()));
    }
    super::entries::check_entry_count(place, turns + 1)
}

fn run_true(place: &WorkDirectory<'_>, meter: &mut Meter) -> Result<()> {
    let start = |number: u64| {
        let number = number.to_string();
        let mut words = place
            .prefix
            .iter()
            .map(|word| OsString::from(word.to_string_lossy().replace("{}", &number)));
        let truth = OsString::from("/bin/true");
        let program = words.next().unwrap_or_else(|| truth.clone());
        let mut command = Command::new(&program);
        command.args(words).current_dir(place.path);
        if Path::new(&program) != Path::new("/bin/true") {
            command.arg(&truth);
        }
        run_expecting_success(&mut command).map(|()| 0)
    };
    // One unrecorded start: the binary comes into the page cache.
    meter.warm_up(1, |_| start(999))?;
    meter.measure_pass(place.scale.scaled_ops(STARTS), start)
}

fn run_expecting_success(command: &mut Command) -> Result<()> {
    let done = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if done.success() {
        return Ok(());
    }
    Err(Error::check_failed(format!("{command:?} ended with {done}")))
}
