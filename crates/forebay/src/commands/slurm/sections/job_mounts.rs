//! Whether jobs see what is mounted on their node.

use super::{Finding, Section, SetupFile};
use crate::commands::slurm::cluster_state::ClusterState;
use crate::commands::slurm::setup::SlurmSetup;

pub(super) const SECTION: Section = Section { name: "mounts in jobs", files, check };

fn files(_: &SlurmSetup, _: Option<&ClusterState>) -> Vec<SetupFile> {
    Vec::new()
}

fn check(setup: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    if setup.mounts.is_empty() {
        return Vec::new();
    }
    let kind = cluster.setting("JobContainerType").unwrap_or_default();
    vec![match kind {
        "job_container/tmpfs" | "job_container/cncu" => Finding::limited(
            format!(
                "{kind} gives each job mounts of its own: it does not see what is mounted after it began"
            ),
            "mount volumes before slurmd starts (systemd), or set Shared=true in job_container.conf (Slurm 23.02)",
        ),
        _ => Finding::ok("jobs see what is mounted on their node"),
    }]
}
