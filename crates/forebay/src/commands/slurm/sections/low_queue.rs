//! A queue for what can wait: its jobs fill slots that nobody else wants.

use super::{Finding, INCLUDE, Section, SetupFile};
use crate::commands::slurm::cluster_state::{ClusterState, SlurmRecord};
use crate::commands::slurm::setup::SlurmSetup;

pub(super) const SECTION: Section = Section { name: "low queue", files, check };

fn files(setup: &SlurmSetup, _: Option<&ClusterState>) -> Vec<SetupFile> {
    let Some(name) = &setup.low else { return Vec::new() };
    vec![SetupFile::lines(format!(
        "# Jobs of this partition begin only when none of a partition below waits for the node. Partitions\n\
         # with a PriorityTier of their own need one above 1.\n\
         PartitionName={name} Nodes=ALL PriorityTier=1 Default=NO State=UP\n\
         PartitionName=DEFAULT PriorityTier=10\n"
    ))]
}

fn check(setup: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    let Some(name) = &setup.low else { return Vec::new() };
    let name_of = |partition: &SlurmRecord| partition.get("PartitionName").cloned();
    let low = cluster.partitions.iter().find(|one| name_of(one).as_ref() == Some(name));
    let Some(low) = low else {
        return vec![Finding::missing(format!("there is no partition {name}"), INCLUDE)];
    };
    if low.get("State").is_some_and(|state| state != "UP") {
        let state = &low["State"];
        let next = format!("scontrol update PartitionName={name} State=UP");
        return vec![Finding::missing(format!("partition {name} is {state}"), next)];
    }
    let tier = |partition: &SlurmRecord| -> u64 {
        partition.get("PriorityTier").and_then(|tier| tier.parse().ok()).unwrap_or(1)
    };
    let others = cluster.partitions.iter().filter(|one| name_of(one).as_ref() != Some(name));
    let not_above: Vec<String> =
        others.filter(|one| tier(one) <= tier(low)).filter_map(name_of).collect();
    vec![match not_above.is_empty() {
        true => Finding::ok(format!("jobs of {name} wait for those of all other partitions")),
        false => Finding::missing(
            format!(
                "partitions {} are no higher than {name}: its jobs do not wait",
                not_above.join(",")
            ),
            format!("give them a PriorityTier above {}", tier(low)),
        ),
    }]
}
