//! The subcommands: one file each, one line here.

mod attach;
mod bench;
mod book;
mod check;
mod clean;
mod completions;
mod detach;
mod doctor;
mod explain;
mod export;
mod import;
pub(crate) mod join;
mod leave;
mod list;
mod logs;
mod manual;
mod metrics;
mod mount;
mod plan;
mod probe;
mod reads;
mod replay;
mod report;
mod restore;
pub(crate) mod run;
mod sample;
mod simulate;
mod slurm;
mod status;
mod study;
mod summary;
mod top;
mod unmount;
mod warm;

use crate::exit::CommandError;

/// What Forebay can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a command in place, unmodified, and record what every task did to storage
    Run(run::Args),
    /// Print the summary of a run again
    Summary(summary::Args),
    /// List the runs that are kept in a project
    List(list::Args),
    /// Remove old runs of a project
    Clean(clean::Args),
    /// Watch runs and mounts while they work: tiers, tasks, hot files, uploads, warnings
    Top(top::Args),
    /// Say whether runs and mounts are well, for people, scripts and systemd
    Status(status::Args),
    /// Print figures of runs and mounts for Prometheus
    Metrics(metrics::Args),
    /// Print what the daemon of a run or a mount has said
    Logs(logs::Args),
    /// Look at a machine without a mount, such as a file server, while others work with it
    Sample(sample::Args),
    /// Make a run file of the records that another tool kept of a run
    Import(import::Args),
    /// Make one run of the run files of several nodes
    Join(join::Args),
    /// Write what a run or a workload file says there is to do, for other tools
    Export(export::Args),
    /// Learn a workflow from its run, and find where its files should live
    Plan(plan::Args),
    /// Make a page of HTML that shows a run, or compares several
    Report(report::Args),
    /// Say in sentences why a plan is as it is, or where the time of a run went
    Explain(explain::Args),
    /// Run a command on several storages, round by round, and say what differs
    Bench(bench::Args),
    /// Measure what a storage can do, gently, and print it as a tier of a site file
    Probe(probe::Args),
    /// Pack FASTQ into an archive that is smaller than .gz, and read it again
    Reads(reads::Args),
    /// Do again what a recorded run did to storage, without its tools
    Replay(replay::Args),
    /// Say how long a workload would take with other tiers, rules, nodes or queues
    Simulate(simulate::Args),
    /// Simulate a published experiment, and compare with what was published
    Study(study::Args),
    /// Bring files that rules sent to other tiers back in place
    Restore(restore::Args),
    /// Look whether all files on other tiers are there and whole
    Check(check::Args),
    /// Show a volume at a directory, to other programs too, until it is unmounted
    Mount(mount::Args),
    /// End a mount, and wait until its files are written back
    Unmount(unmount::Args),
    /// End a mount now, with programs in it, on a machine that is about to be taken away
    Leave(leave::Args),
    /// Bring files of buckets to this node and its peers, before programs ask for them
    Warm(warm::Args),
    /// Start, look at and stop the database in which the nodes of a cluster find each other
    Book(book::Args),
    /// Print what a cluster's Slurm is told for Forebay, and check that it was told
    Slurm(slurm::Args),
    /// Show another directory inside a volume
    Attach(attach::Args),
    /// Show it no longer
    Detach(detach::Args),
    /// Say what works on this machine, and how to mend what does not
    Doctor(doctor::Args),
    /// Print a page of the manual: formats, semantics, security
    Manual(manual::Args),
    /// Print what completes commands and options in your shell
    Completions(completions::Args),
}

impl Command {
    /// Does it; the number is the exit code.
    pub(crate) fn run(self) -> Result<i32, CommandError> {
        match self {
            Command::Run(args) => run::run(args),
            Command::Summary(args) => summary::run(&args),
            Command::List(args) => list::run(&args),
            Command::Clean(args) => clean::run(&args),
            Command::Top(args) => top::run(&args),
            Command::Status(args) => status::run(&args),
            Command::Metrics(args) => metrics::run(&args),
            Command::Logs(args) => logs::run(&args),
            Command::Sample(args) => sample::run(&args),
            Command::Import(args) => import::run(&args),
            Command::Join(args) => join::run(&args),
            Command::Export(args) => export::run(&args),
            Command::Plan(args) => plan::run(&args),
            Command::Report(args) => report::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Bench(args) => bench::run(&args),
            Command::Probe(args) => probe::run(&args),
            Command::Reads(args) => reads::run(&args),
            Command::Replay(args) => replay::run(&args),
            Command::Simulate(args) => simulate::run(&args),
            Command::Study(args) => study::run(&args),
            Command::Restore(args) => restore::run(&args),
            Command::Check(args) => check::run(&args),
            Command::Mount(args) => mount::run(args),
            Command::Unmount(args) => unmount::run(&args),
            Command::Leave(args) => leave::run(&args),
            Command::Warm(args) => warm::run(&args),
            Command::Book(args) => book::run(&args),
            Command::Slurm(args) => slurm::run(&args),
            Command::Attach(args) => attach::run(&args),
            Command::Detach(args) => detach::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::Manual(args) => manual::run(&args),
            Command::Completions(args) => completions::run(&args),
        }
    }
}
