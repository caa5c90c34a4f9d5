//! `forebay doctor`: what works here, what that means, and how to mend what does not.

mod buckets;
mod cluster;
mod container;
mod descriptors;
mod device;
mod engines;
mod finding;
mod kernel;
mod machine_facts;
mod mounts;
mod namespaces;
mod passthrough;
mod recorder;
mod run_salvage;
mod runtimes;
mod slurm;
mod state;
mod text;
mod transport;
mod trial_run;
mod wake_up;
mod watches;

use std::io::IsTerminal;
use std::path::PathBuf;

use finding::{CheckStatus, Finding};
use machine_facts::MachineFacts;
use serde::Serialize;

use crate::exit::CommandError;
use crate::slurm_programs::SlurmPatience;

/// Options of `forebay doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  forebay doctor\n  \
    forebay doctor --cluster          each node: version, kernel, mounts, peers, space, clock\n  \
    forebay doctor --salvage ~/.local/state/forebay/TIME.run -o saved.run\n\n\
    Exit codes: 0 if `forebay run` works here, 1 if it does not (or nothing could be salvaged; \
    --cluster: or a node is not well).")]
pub(crate) struct Args {
    /// Print JSON on standard output
    #[arg(long)]
    json: bool,
    /// Ask each node of a Slurm cluster, by srun, and say which differ or are not well
    #[arg(long, conflicts_with = "salvage")]
    cluster: bool,
    #[command(flatten)]
    patience: SlurmPatience,
    /// Make a readable run of one that was killed (`forebay doctor` lists those it finds)
    #[arg(long, value_name = "FILE", requires = "output")]
    salvage: Option<PathBuf>,
    /// Where the salvaged run goes
    #[arg(short, long, value_name = "RUN", requires = "salvage")]
    output: Option<PathBuf>,
}

/// One question to this machine.
struct Check {
    /// A name of one to three words.
    name: &'static str,
    /// What it asks.
    asks: &'static str,
    /// Its answer is the exit code.
    decides: bool,
    look: fn(&MachineFacts) -> Finding,
}

/// All that is looked at, in this order.
const CHECKS: [Check; 17] = [
    Check {
        name: "FUSE device",
        asks: "does the kernel have FUSE, and may this user open /dev/fuse?",
        decides: false,
        look: device::run_check,
    },
    Check {
        name: "kernel",
        asks: "which version is it, and which FUSE protocol does it speak?",
        decides: false,
        look: kernel::run_check,
    },
    Check {
        name: "private mounts",
        asks: "may this user make private mounts (ordinary users: in a user namespace)?",
        decides: false,
        look: namespaces::run_check,
    },
    Check {
        name: "trial run",
        asks: "does a real `forebay run -- true` work, and how long does it take?",
        decides: true,
        look: trial_run::run_check,
    },
    Check {
        name: "passthrough",
        asks: "do reads and writes go past the daemon, at the storage's own speed?",
        decides: false,
        look: passthrough::run_check,
    },
    Check {
        name: "recorder",
        asks: "can a run be recorded from the kernel (`--recorder bpf`), without a mount?",
        decides: false,
        look: recorder::run_check,
    },
    Check {
        name: "wake-ups",
        asks: "can CPUs be kept awake while programs wait for many operations?",
        decides: false,
        look: wake_up::run_check,
    },
    Check {
        name: "transport",
        asks: "can operations come through io_uring, which wakes nobody on another CPU?",
        decides: false,
        look: transport::run_check,
    },
    Check {
        name: "lasting mounts",
        asks: "may this user mount a volume for other programs (`forebay mount`)?",
        decides: false,
        look: mounts::run_check,
    },
    Check {
        name: "buckets",
        asks: "are the buckets of mounted volumes in reach?",
        decides: false,
        look: buckets::run_check,
    },
    Check {
        name: "inotify watches",
        asks: "how many directories can be watched for changes made outside?",
        decides: false,
        look: watches::run_check,
    },
    Check {
        name: "open files",
        asks: "how many files may a process hold open?",
        decides: false,
        look: descriptors::run_check,
    },
    Check {
        name: "state directory",
        asks: "is there a local place for the record of a run, and are killed runs left in it?",
        decides: false,
        look: state::run_check,
    },
    Check {
        name: "container",
        asks: "is this the inside of a container?",
        decides: false,
        look: container::run_check,
    },
    Check {
        name: "container tools",
        asks: "do the container runtimes on PATH start tasks where they are seen?",
        decides: false,
        look: runtimes::run_check,
    },
    Check {
        name: "Slurm",
        asks: "can tasks leave this machine through Slurm?",
        decides: false,
        look: slurm::run_check,
    },
    Check {
        name: "engines",
        asks: "which workflow engines are on PATH?",
        decides: false,
        look: engines::run_check,
    },
];

/// A check with its answer.
#[derive(Debug, Serialize)]
struct CheckResult {
    name: &'static str,
    asks: &'static str,
    #[serde(flatten)]
    finding: Finding,
}

/// All answers.
#[derive(Debug, Serialize)]
struct DoctorReport {
    forebay: &'static str,
    kernel: String,
    user: String,
    works: bool,
    checks: Vec<CheckResult>,
}

pub(crate) fn run(args: &Args) -> Result<i32, CommandError> {
    if let (Some(state), Some(output)) = (&args.salvage, &args.output) {
        return run_salvage::salvage_run(state, output, args.json);
    }
    if args.cluster {
        return cluster::examine_cluster(args.json, args.patience.limit());
    }
    let report = run_all_checks(&MachineFacts::inspect_machine());
    let out = if args.json {
        serde_json::to_string(&report).expect("a report is plain data") + "\n"
    } else {
        let terminal = std::io::stdout().is_terminal();
        text::render_report(&report, terminal && std::env::var_os("NO_COLOR").is_none())
    };
    crate::console::print(&out);
    Ok(i32::from(!report.works))
}

fn run_all_checks(here: &MachineFacts) -> DoctorReport {
    let mut works = true;
    let mut checks = Vec::new();
    for check in &CHECKS {
        let finding = (check.look)(here);
        works &= !check.decides || finding.standing != CheckStatus::Missing;
        checks.push(CheckResult { name: check.name, asks: check.asks, finding });
    }
    let kernel = here.kernel.clone();
    DoctorReport {
        forebay: env!("CARGO_PKG_VERSION"),
        kernel,
        user: here.describe_user(),
        works,
        checks,
    }
}

#[cfg(test)]
mod tests {
    //! A doctor that skips a question, or asks it badly, lets a pipeline run into the wall.
    use super::*;

    #[test]
    fn every_check_is_named_and_asks_a_question() {
        for (number, check) in CHECKS.iter().enumerate() {
            assert!(!check.name.is_empty() && check.name.len() <= text::NAME, "{}", check.name);
            assert!(check.asks.ends_with('?'), "{}: {}", check.name, check.asks);
            assert!(CHECKS[..number].iter().all(|other| other.name != check.name));
        }
        assert_eq!(CHECKS.iter().filter(|check| check.decides).count(), 1);
    }
}
