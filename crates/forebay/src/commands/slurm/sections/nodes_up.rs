//! Whether all nodes take jobs; one that was not well was drained.

use super::{Finding, Section, SetupFile};
use crate::commands::slurm::cluster_state::{ClusterState, SlurmRecord};
use crate::commands::slurm::setup::SlurmSetup;

pub(super) const SECTION: Section = Section { name: "nodes", files, check };

fn files(_: &SlurmSetup, _: Option<&ClusterState>) -> Vec<SetupFile> {
    Vec::new()
}

fn check(_: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    let away = |node: &&SlurmRecord| {
        let state = node.get("State").map(String::as_str).unwrap_or_default();
        ["DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "*"].iter().any(|word| state.contains(word))
    };
    let nodes: Vec<&SlurmRecord> = cluster.nodes.iter().filter(away).collect();
    if nodes.is_empty() {
        return vec![Finding::ok(format!("all {} take jobs", cluster.nodes.len()))];
    }
    let value = |node: &SlurmRecord, name: &str| node.get(name).cloned().unwrap_or_default();
    let found = nodes.into_iter().map(|node| {
        let (name, state) = (value(node, "NodeName"), value(node, "State"));
        let reason = match value(node, "Reason") {
            none if none.is_empty() => String::new(),
            reason => format!(", because: {reason}"),
        };
        Finding::limited(
            format!("{name} is {state}{reason}"),
            format!("when it is well: scontrol update NodeName={name} State=RESUME"),
        )
    });
    found.collect()
}
