//! The same command many times at once: on so many nodes, so many times on each.
//!
//! On one machine a node is a mount of its own, with a network of its own where the kernel lets one
//! have it; what the whole storage has, all share (`forebay mount --server`). On a cluster Slurm
//! starts the commands, and the storage is a real one that all nodes see.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::Args;
use crate::exit::CommandError;

/// Options of scaling.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ScaleOptions {
    /// Run the command on so many nodes at once: on one machine each is a mount of its own
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    nodes: Vec<u32>,
    /// Run it so many times at once on each node
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Vec<u32>,
    /// Nodes are those of Slurm: srun starts the commands; storages must be seen by all
    #[arg(long)]
    slurm: bool,
}

/// How often it is run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Scale {
    pub(super) nodes: u32,
    pub(super) jobs: u32,
    /// By Slurm.
    pub(super) slurm: bool,
}

/// More at once than this is asked of nobody by mistake.
const MOST: u32 = 4096;

impl ScaleOptions {
    /// All that are asked for, the smallest first; none: the command is run once. `emulated`: so is
    /// one of the storages.
    pub(super) fn all(&self, emulated: bool) -> Result<Vec<Scale>, CommandError> {
        if self.nodes.is_empty() && self.jobs.is_empty() {
            return if self.slurm {
                Err(usage_error("--slurm: on how many nodes?"))
            } else {
                Ok(Vec::new())
            };
        }
        let sizes = |given: &[u32]| {
            let mut sizes = if given.is_empty() { vec![1] } else { given.to_vec() };
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        };
        let (nodes, jobs) = (sizes(&self.nodes), sizes(&self.jobs));
        if nodes.last().zip(jobs.last()).is_some_and(|(nodes, jobs)| nodes * jobs > MOST) {
            return Err(usage_error("more than 4096 at once"));
        }
        if self.slurm && emulated {
            return Err(usage_error("--slurm: what is emulated is seen on this machine alone"));
        }
        let of = |nodes| jobs.iter().map(move |&jobs| Scale { nodes, jobs, slurm: self.slurm });
        Ok(nodes.into_iter().flat_map(of).collect())
    }
}

fn usage_error(message: &str) -> CommandError {
    CommandError::new(
        2,
        message,
        "write --nodes 1,2,4 --jobs 1,2,4; with --slurm of storages as they are",
    )
}

impl Scale {
    /// How many run at once.
    pub(super) fn total_jobs(self) -> u32 {
        self.nodes * self.jobs
    }

    /// Where a node's mount is; none where the storage itself is used.
    pub(super) fn node_mount_point(self, fresh: &Path, node: u32) -> PathBuf {
        let mut name = fresh.as_os_str().to_owned();
        name.push(format!(".node-{node}"));
        PathBuf::from(name)
    }

    /// Makes a directory for each command, before anybody looks.
    pub(super) fn create_directories(self, fresh: &Path) -> Result<(), CommandError> {
        self.job_directories(fresh).iter().try_for_each(|path| {
            std::fs::create_dir_all(path).map_err(|error| {
                CommandError::new(1, format!("{}: {error}", path.display()), "runs so far are kept")
            })
        })
    }

    /// The directory of each command, on the storage itself.
    pub(super) fn job_directories(self, fresh: &Path) -> Vec<PathBuf> {
        self.node_job_pairs().map(|(node, job)| fresh.join(job_subdirectory(node, job))).collect()
    }

    fn node_job_pairs(self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.nodes).flat_map(move |node| (0..self.jobs).map(move |job| (node, job)))
    }

    /// One command that runs all of them, and fails if one of them does.
    pub(super) fn launch_command(self, args: &Args, fresh: &Path, served: bool) -> Command {
        if self.slurm {
            return self.srun_command(args, fresh);
        }
        let mut command = Command::new("sh");
        command.args(["-c", ALL, "forebay-nodes", &self.nodes.to_string(), &self.jobs.to_string()]);
        command.arg(fresh).arg(served.to_string()).args(&args.command);
        command
    }

    fn srun_command(self, args: &Args, fresh: &Path) -> Command {
        let mut command = Command::new("srun");
        command
            .arg(format!("--nodes={}", self.nodes))
            .arg(format!("--ntasks={}", self.total_jobs()));
        command
            .arg(format!("--ntasks-per-node={}", self.jobs))
            .args(["--distribution=block", "--kill-on-bad-exit=0"]);
        command.args(["--chdir".as_ref(), fresh.as_os_str()]);
        command.args(["sh", "-c", OF_SLURM, "forebay-node"]).arg(self.jobs.to_string());
        command.args(&args.command);
        command
    }
}

/// A command's directory below the fresh one.
fn job_subdirectory(node: u32, job: u32) -> String {
    format!("node-{node}/job-{job}")
}

/// Starts each command in its directory, waits for all, and ends with a failure if there was one.
/// Words: nodes, jobs, the fresh directory, whether each node has a mount of its own; the command.
const ALL: &str = r#"
nodes=$1 jobs=$2 top=$3 served=$4
shift 4
apart=false
unshare --net true 2> /dev/null && apart=true
pids= failed=0 node=0
while [ "$node" -lt "$nodes" ]; do
    job=0
    while [ "$job" -lt "$jobs" ]; do
        (
            place=$top/node-$node/job-$job
            ! $served || place=$top.node-$node/node-$node/job-$job
            cd "$place" || exit 125
            FOREBAY_NODE=$node FOREBAY_JOB=$job
            export FOREBAY_NODE FOREBAY_JOB
            $apart || exec "$@"
            exec unshare --net -- sh -c 'ip link set lo up 2> /dev/null; exec "$@"' sh "$@"
        ) &
        pids="$pids $!"
        job=$((job + 1))
    done
    node=$((node + 1))
done
for pid in $pids; do
    wait "$pid" || failed=$?
done
exit $failed
"#;

/// The same for one that Slurm starts.
const OF_SLURM: &str = r#"
jobs=$1; shift
FOREBAY_NODE=$((SLURM_PROCID / jobs)) FOREBAY_JOB=$((SLURM_PROCID % jobs))
export FOREBAY_NODE FOREBAY_JOB
cd "node-$FOREBAY_NODE/job-$FOREBAY_JOB" || exit 125
exec "$@"
"#;
