//! Room on a node's own disks: a generic resource, which no two jobs get.

use super::{Finding, INCLUDE, Section, SetupFile};
use crate::commands::slurm::cluster_state::{ClusterState, SlurmRecord};
use crate::commands::slurm::setup::SlurmSetup;

pub(super) const SECTION: Section = Section { name: "room on nodes", files, check };

fn files(setup: &SlurmSetup, cluster: Option<&ClusterState>) -> Vec<SetupFile> {
    if setup.node_tiers.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = setup.node_tiers.iter().map(|tier| tier.resource.clone()).collect();
    let types = ClusterState::merged_list(cluster, "GresTypes", &names);
    let each: Vec<String> =
        setup.node_tiers.iter().map(|tier| format!("{}:{}", tier.resource, tier.mib)).collect();
    let each = each.join(",");
    let conf = format!(
        "# Room on a node's own disks, in MiB. What a job asks for (--gres) no other job gets. All nodes\n\
         # below have it; to a node with a Gres of its own, add {each}\n\
         GresTypes={types}\nNodeName=DEFAULT Gres={each}\n"
    );
    let gres: String = setup
        .node_tiers
        .iter()
        .map(|tier| format!("Name={} Count={} Flags=CountOnly\n", tier.resource, tier.mib))
        .collect();
    vec![SetupFile::lines(conf), SetupFile { name: "forebay-gres.conf", mode: 0o644, text: gres }]
}

fn check(setup: &SlurmSetup, cluster: &ClusterState) -> Vec<Finding> {
    let types: Vec<&str> = cluster.setting("GresTypes").unwrap_or_default().split(',').collect();
    let mut found = Vec::new();
    for tier in &setup.node_tiers {
        let name = &tier.resource;
        if !types.contains(&&**name) {
            found.push(Finding::missing(format!("GresTypes has no {name}"), INCLUDE));
            continue;
        }
        let count = |node: &SlurmRecord| resource_count(node.get("Gres")?, name);
        let without = node_names(cluster, |node| count(node).is_none());
        let other = node_names(cluster, |node| count(node).is_some_and(|mib| mib != tier.mib));
        if !without.is_empty() {
            let next = format!("add {name}:{} to Gres of their NodeName line. {INCLUDE}", tier.mib);
            found.push(Finding::missing(format!("{without} have no {name}"), next));
        } else if !other.is_empty() {
            let what =
                format!("{other} have another number of {name} than the site's {}", tier.mib);
            found.push(Finding::limited(what, "make Slurm's and the site's numbers the same"));
        } else {
            let many = cluster.nodes.len();
            found.push(Finding::ok(format!("all {many} nodes have {} MiB of {name}", tier.mib)));
        }
    }
    found
}

fn node_names(cluster: &ClusterState, wanted: impl Fn(&SlurmRecord) -> bool) -> String {
    let nodes = cluster.nodes.iter().filter(|node| wanted(node));
    let names: Vec<&str> = nodes.filter_map(|node| node.get("NodeName")).map(|n| &**n).collect();
    names.join(",")
}

/// The number of a resource in `name:type:NUMBER(where),...`; Slurm writes K for 1024 and so on.
fn resource_count(list: &str, name: &str) -> Option<u64> {
    let one = list.split(',').find(|one| one.split([':', '(']).next() == Some(name))?;
    let number = one.split('(').next()?.rsplit(':').next()?;
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match number[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 1,
        "M" => 2,
        "G" => 3,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1024_u64.pow(power))
}

#[cfg(test)]
mod tests {
    //! If these fail, two jobs get the same room.
    use super::*;

    #[test]
    fn numbers_are_read_as_slurm_writes_them() {
        for (list, count) in [
            ("forebay_near:90", Some(90)),
            ("gpu:2,forebay_near:no_consume:4K(S:0-1)", Some(4096)),
            ("forebay_near2:90", None),
            ("gpu:1", None),
        ] {
            assert_eq!(resource_count(list, "forebay_near"), count, "{list}");
        }
    }
}
