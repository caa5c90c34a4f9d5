//! The command `forebay-bench`: words in, exit status out; all work is in the library.

use clap::{Parser, Subcommand, ValueEnum};
use forebay_bench::error::{Error, Result};
use forebay_bench::workloads::{WorkDirectory, WorkScale};
use forebay_bench::{interrupt, launch, markdown_tables, micro, pipelines, workloads};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measures what Forebay costs. Exit status: 0 done, 1 a measurement failed, 2 usage,
/// 3 a target is missed (`table --check`), 130 interrupted (finished runs are saved).
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Do one micro workload in a directory and print what it took.
    Work(WorkOptions),
    /// Run the micro workloads bare and covered.
    Micro(micro::Options),
    /// Run whole pipelines bare and covered.
    Pipelines(pipelines::Options),
    /// Print the tables in Markdown from the saved runs.
    Table(markdown_tables::Options),
    /// List the micro workloads.
    List,
}

#[derive(Debug, clap::Args)]
struct WorkOptions {
    /// Which workload.
    name: String,
    /// In which directory; fresh for the setup.
    dir: PathBuf,
    /// Which part of it.
    #[arg(long, value_enum, default_value_t = Stage::Run)]
    stage: Stage,
    /// Share of the full work.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Write the result here instead of to standard output.
    #[arg(long)]
    result: Option<PathBuf>,
    /// What to put before the commands of workloads that start runs themselves.
    #[arg(last = true)]
    prefix: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Stage {
    Setup,
    Run,
    Verify,
    /// All three, one after the other.
    All,
}

fn main() -> ExitCode {
    match run_command(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("forebay-bench: {cause}");
            ExitCode::from(cause.exit_code())
        }
    }
}

fn run_command(command: &Command) -> Result<()> {
    match command {
        Command::Work(work) => run_workload_stages(work),
        Command::Micro(options) => run_supervised(|| micro::run_micro(options)),
        Command::Pipelines(options) => run_supervised(|| pipelines::run_pipelines(options)),
        Command::Table(options) => markdown_tables::print_tables(options),
        Command::List => {
            for workload in workloads::all_workloads() {
                println!("{:<18} {}", workload.name, workload.operation);
            }
            Ok(())
        }
    }
}

/// Orders commands about: listens to Ctrl-C and adopts what they leave behind.
fn run_supervised(body: impl FnOnce() -> Result<()>) -> Result<()> {
    interrupt::catch_signals();
    launch::adopt_orphans()?;
    body()
}

fn run_workload_stages(work: &WorkOptions) -> Result<()> {
    let workload = workloads::find_workload(&work.name)?;
    let scale = WorkScale(work.scale);
    let here = |what: &dyn Fn(&WorkDirectory<'_>) -> Result<()>, stage: &str| {
        let told = |cause: Error| Error::new(cause.kind, format!("{stage}: {}", cause.message));
        what(&WorkDirectory::open(&work.dir, scale, &work.prefix)?).map_err(told)
    };
    if matches!(work.stage, Stage::Setup | Stage::All) {
        here(&workload.setup, "setup")?;
    }
    if matches!(work.stage, Stage::Run | Stage::All) {
        let done = workloads::measure_workload(workload, &work.dir, scale, &work.prefix)?;
        let line = serde_json::to_string(&done).map_err(std::io::Error::from)?;
        match &work.result {
            Some(path) => std::fs::write(path, line)?,
            None => println!("{line}"),
        }
    }
    if matches!(work.stage, Stage::Verify | Stage::All) {
        here(&workload.verify, "verify")?;
    }
    Ok(())
}
