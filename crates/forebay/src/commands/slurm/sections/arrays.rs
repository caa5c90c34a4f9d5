//! Arrays of many samples: Slurm takes a thousand unless it is told otherwise.

use super::{Finding, Section, SetupFile};
use crate::commands::slurm::cluster_state::ClusterState;
use crate::commands::slurm::setup::SlurmSetup;

pub(super) const SECTION: Section = Section { name: "arrays", files, check };

/// Settings, and what arrays of 10,000 need: the first bounds their numbers, the second all jobs that
/// the controller knows.
const WANTED: [(&str, u64); 2] = [("MaxArraySize", 10_001), ("MaxJobCount", 50_000)];

fn number(cluster: &ClusterState, name: &str) -> Option<u64> {
    cluster.setting(name)?.parse().ok()
}

fn files(_: &SlurmSetup, cluster: Option<&ClusterState>) -> Vec<SetupFile> {
    let is_less = |name: &str, least: u64| {
        cluster.and_then(|cluster| number(cluster, name)).is_none_or(|number| number < least)
    };
    let lines: String = WANTED
        .iter()
        .filter(|(name, least)| is_less(name, *least))
        .map(|(name, least)| format!("{name}={least}\n"))
        .collect();
    match lines.is_empty() {
        true => Vec::new(),
        false => vec![SetupFile::lines(format!("# Arrays of up to 10,000 jobs.\n{lines}"))],
    }
}

fn check(_: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, least) in WANTED {
        match number(cluster, name) {
            Some(there) if there < least => found.push(Finding::limited(
                format!("{name} is {there}: `sbatch --array=1-10000` is refused"),
                format!("{name}={least} in slurm.conf, for arrays of 10,000; restart slurmctld"),
            )),
            Some(_) => {}
            None => found.push(Finding::limited(
                format!("{name} is not told by this Slurm"),
                "see what `scontrol show config` prints",
            )),
        }
    }
    match found.is_empty() {
        true => vec![Finding::ok("arrays of 10,000 jobs are taken")],
        false => found,
    }
}
