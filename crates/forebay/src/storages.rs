//! Where the project is, and storages as a run found them: a site for what was learnt.

use crate::exit::CommandError;
use forebay_model::{ConfigError, Nodes, Prices, Reach, Run, Site, StorageProfile, Tier, TierId};
use forebay_plan::{LearntRun, learn_workload};
use std::path::Path;

/// Types of file systems that other machines see, too.
const NETWORKED: [&str; 9] =
    ["nfs", "nfs4", "lustre", "beegfs", "gpfs", "cifs", "smb3", "ceph", "fuse.s3fs"];

/// The name of the project's tier when it is the storage of the run.
pub(crate) fn measured_tier_id() -> TierId {
    TierId("here".to_owned())
}

/// The prices that Forebay brings.
pub(crate) fn own_prices() -> Result<Prices, ConfigError> {
    let text = include_str!("../../../prices/aws-us-east-1.toml");
    Prices::parse(text, "prices/aws-us-east-1.toml")
}

/// The prices of a sheet, or those that Forebay brings.
///
/// # Errors
/// The command ends with `code`: the sheet can't be read, or has a flaw.
pub(crate) fn load_prices(sheet: Option<&Path>, code: i32) -> Result<Prices, CommandError> {
    let flawed = |flaw: ConfigError| {
        CommandError::new(code, flaw.to_string(), "`forebay manual formats price` has all keys")
    };
    let Some(path) = sheet else { return own_prices().map_err(flawed) };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        CommandError::new(code, message, "name a price sheet (`forebay manual formats price`)")
    })?;
    Prices::parse(&text, &path.display().to_string()).map_err(flawed)
}

/// What a run teaches, and the types of the file systems that it was on.
///
/// # Errors
/// In words: no run, or none to learn from.
pub(crate) fn learn_from_run(path: &Path) -> Result<(LearntRun, Vec<String>), String> {
    let run = Run::open(path).map_err(|error| error.to_string())?;
    let learnt = learn_workload(&run).map_err(|error| error.to_string())?;
    let trees = run.trees().map_err(|error| error.to_string())?;
    Ok((learnt, trees.into_iter().map(|tree| tree.fs_type).collect()))
}

/// A site with what it leaves open filled in from a run, and what was filled in, in words.
#[derive(Debug)]
pub(crate) struct FilledSite {
    pub(crate) site: Site,
    /// `None`: the run does not say how its storage behaved, and no tier is described.
    pub(crate) project: Option<TierId>,
    pub(crate) notes: Vec<String>,
}

/// Fills a site in, with the project where it was, or on the tier that is named for it: then the
/// storage of the run is nowhere.
pub(crate) fn fill_site(
    mut site: Site,
    learnt: &LearntRun,
    fs_types: &[String],
    named: Option<TierId>,
) -> FilledSite {
    let mut notes = Vec::new();
    for tier in fitted_tiers(&site, learnt) {
        notes.push(format!("tier {} is as the run found it: nobody probed it", tier.id));
        site = site.with_tier(tier);
    }
    if site.nodes().is_none() {
        let slots = learnt.measured.slots.max(1);
        notes.push(format!(
            "the site says nothing of machines: one with {slots} slots, as in the run"
        ));
        let (count, cores, memory) = (1, slots, None);
        let (instance, reserved, speed) = (None, 0, 1.0);
        site = site.with_nodes(Nodes { count, slots, cores, memory, instance, reserved, speed });
    }
    let elsewhere = named.filter(|named| *named != measured_tier_id());
    let found = if elsewhere.is_none() { tier_of_run(&site, learnt, fs_types) } else { None };
    let project = match (elsewhere, found) {
        (Some(named), _) => Some(named),
        (None, Some(tier)) => {
            site = site.with_tier(tier);
            Some(measured_tier_id())
        }
        (None, None) => widest_tier(&site),
    };
    FilledSite { site, project, notes }
}

/// Tiers without a profile that the run used: as it found them.
fn fitted_tiers(site: &Site, learnt: &LearntRun) -> Vec<Tier> {
    let of = |tier: &Tier| {
        let storage = learnt.storages.iter().find(|storage| {
            let name = storage.tier.as_deref();
            name == Some(tier.id.as_str()) || name == Some(tier.whole_tier().as_str())
        })?;
        Some(Tier { profile: Some(storage.profile.clone()), ..tier.clone() })
    };
    site.tiers().filter(|tier| tier.profile.is_none()).filter_map(of).collect()
}

/// The storage that the run was on as a tier, unless the site is somewhere else: one of machines
/// that are bought.
fn tier_of_run(site: &Site, learnt: &LearntRun, fs_types: &[String]) -> Option<Tier> {
    if site.nodes().is_some_and(|nodes| nodes.instance.is_some()) {
        return None;
    }
    let storage = learnt.storages.iter().find(|storage| storage.tier.is_none())?;
    let profile: StorageProfile = storage.profile.clone();
    let shared = fs_types.iter().any(|fs_type| NETWORKED.contains(&fs_type.as_str()));
    let many = site.nodes().is_some_and(|nodes| nodes.count > 1);
    Some(Tier {
        id: measured_tier_id(),
        path: None,
        bucket: None,
        // With several machines, a project that they all work on is on something that they share.
        reach: if shared || many { Reach::Shared } else { Reach::Node },
        capacity: None,
        pool_of: None,
        profile: Some(profile),
        price: None,
    })
}

/// The described storage that most machines see.
fn widest_tier(site: &Site) -> Option<TierId> {
    let described = site.tiers().filter(|tier| tier.profile.is_some() && tier.pool_of.is_none());
    let rank = |tier: &&Tier| match tier.reach {
        Reach::Shared => 0,
        Reach::World => 1,
        Reach::Node => 2,
    };
    described.min_by_key(rank).map(|tier| tier.id.clone())
}
