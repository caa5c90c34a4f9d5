//! Room on a tier of all nodes together: licences, of which no two jobs get the same.

use super::{Finding, INCLUDE, Section, SetupFile};
use crate::commands::slurm::cluster_state::ClusterState;
use crate::commands::slurm::setup::SlurmSetup;

pub(super) const SECTION: Section = Section { name: "room for all", files, check };

fn files(setup: &SlurmSetup, cluster: Option<&ClusterState>) -> Vec<SetupFile> {
    if setup.shared_tiers.is_empty() {
        return Vec::new();
    }
    let wanted: Vec<String> =
        setup.shared_tiers.iter().map(|tier| format!("{}:{}", tier.resource, tier.mib)).collect();
    let all = ClusterState::merged_list(cluster, "Licenses", &wanted);
    vec![SetupFile::lines(format!(
        "# Room on storage of all nodes, in MiB: what a job asks for (--licenses) no other job gets.\n\
         Licenses={all}\n"
    ))]
}

fn check(setup: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    let there: Vec<(&str, &str)> = cluster
        .setting("Licenses")
        .unwrap_or_default()
        .split(',')
        .filter_map(|one| one.split_once([':', '*']))
        .collect();
    let look = |name: &str, mib: u64| match there
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, number)| number.parse::<u64>())
    {
        Some(Ok(number)) if number == mib => Finding::ok(format!("{mib} MiB of {name}")),
        Some(_) => Finding::limited(
            format!("Licenses has another number of {name} than the site's {mib}"),
            "make Slurm's and the site's numbers the same",
        ),
        None => Finding::missing(format!("Licenses has no {name}"), INCLUDE),
    };
    setup.shared_tiers.iter().map(|tier| look(&tier.resource, tier.mib)).collect()
}
