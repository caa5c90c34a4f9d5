//! Where the project is, and storages as a run found them.

use forebay_model::{Profile, Reach, Site, Tier, TierId};
use forebay_plan::Learnt;

use super::measured;

/// Types of file systems that other machines see, too.
const NETWORKED: [&str; 9] =
    ["nfs", "nfs4", "lustre", "beegfs", "gpfs", "cifs", "smb3", "ceph", "fuse.s3fs"];

/// Tiers without a profile that the run used: as it found them.
pub(super) fn fitted(site: &Site, learnt: &Learnt) -> Vec<Tier> {
    let of = |tier: &Tier| {
        let storage = learnt.storages.iter().find(|storage| {
            let name = storage.tier.as_deref();
            name == Some(tier.id.as_str()) || name == Some(tier.whole().as_str())
        })?;
        Some(Tier { profile: Some(storage.profile.clone()), ..tier.clone() })
    };
    site.tiers().filter(|tier| tier.profile.is_none()).filter_map(of).collect()
}

/// The storage that the run was on as a tier, unless the site is somewhere else: one of machines
/// that are bought.
pub(super) fn here(site: &Site, learnt: &Learnt, fs_types: &[String]) -> Option<Tier> {
    if site.nodes().is_some_and(|nodes| nodes.instance.is_some()) {
        return None;
    }
    let storage = learnt.storages.iter().find(|storage| storage.tier.is_none())?;
    let profile: Profile = storage.profile.clone();
    let shared = fs_types.iter().any(|fs_type| NETWORKED.contains(&fs_type.as_str()));
    let many = site.nodes().is_some_and(|nodes| nodes.count > 1);
    Some(Tier {
        id: measured(),
        path: None,
        // With several machines, a project that they all work on is on something that they share.
        reach: if shared || many { Reach::Shared } else { Reach::Node },
        capacity: None,
        pool_of: None,
        profile: Some(profile),
        price: None,
    })
}

/// The described storage that most machines see.
pub(super) fn widest(site: &Site) -> Option<TierId> {
    let described = site.tiers().filter(|tier| tier.profile.is_some() && tier.pool_of.is_none());
    let rank = |tier: &&Tier| match tier.reach {
        Reach::Shared => 0,
        Reach::World => 1,
        Reach::Node => 2,
    };
    described.min_by_key(rank).map(|tier| tier.id.clone())
}
