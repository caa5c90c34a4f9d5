//! Profiles of the storages that a run was on, from the time that its operations took.
//!
//! For each kind, size and pattern a price; for reads and for writes one rate that all sizes share,
//! so that the time of an operation is price + bytes / rate: least squares over what each task did
//! with each class of files. Prices come from the run as it was, with whatever ran beside: how the
//! storage behaves under more load one run can't tell. What it is not: a probe.

mod squares;

use crate::loaded_run::LoadedRun;
use forebay_model::run::OpRow;
use forebay_model::{Op, OpKey, Rate, Seconds, StorageProfile};
use squares::{Observation, fit_least_squares};
use std::collections::BTreeMap;

/// One covered directory, or a tier's, as it behaved.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedStorage {
    /// Its path.
    pub path: Vec<u8>,
    /// The tier's name; `None`: a covered directory.
    pub tier: Option<String>,
    /// What it can do.
    pub profile: StorageProfile,
    /// How many numbers of the profile come from the run.
    pub fitted: u32,
    /// Reads and writes went past Forebay, so that they have no price here.
    pub hidden: bool,
}

/// All storages of a run on which there were operations.
pub(crate) fn fit_storages(rows: &LoadedRun) -> Vec<FittedStorage> {
    let of_tree = |tree: &forebay_model::DirectoryTree| {
        let here = || rows.ops.iter().filter(|row| row.tree == tree.id && row.task.is_some());
        let source = format!("fitted to a run on {}", tree.fs_type);
        let (profile, fitted) = fit_profile(&source, here());
        (fitted > 0).then(|| FittedStorage {
            path: tree.path.clone(),
            tier: tree.tier.clone(),
            profile,
            fitted,
            hidden: tree.passthrough && here().all(|row| row.kind.op() != Some(Op::Read)),
        })
    };
    rows.trees.iter().filter_map(of_tree).collect()
}

fn fit_profile<'a>(source: &str, rows: impl Iterator<Item = &'a OpRow>) -> (StorageProfile, u32) {
    let mut kinds: BTreeMap<Op, BTreeMap<usize, Vec<Observation>>> = BTreeMap::new();
    for row in rows.filter(|row| row.count > 0) {
        let Some(key) = row.kind.key() else { continue };
        let point = Observation {
            count: row.count as f64,
            bytes: row.bytes.get() as f64,
            secs: row.time.as_secs(),
        };
        kinds.entry(key.op()).or_default().entry(key.index()).or_default().push(point);
    }
    let mut profile = StorageProfile::zero_cost(source);
    let mut fitted = 0;
    for (op, groups) in kinds {
        let (keys, points): (Vec<usize>, Vec<Vec<Observation>>) = groups.into_iter().unzip();
        let found = fit_least_squares(&points);
        fitted += keys.len() as u32;
        for (key, price) in keys.into_iter().zip(found.prices) {
            let key = OpKey::from_index(key).expect("it came from a key");
            profile.set_latency(key, Seconds(price));
        }
        let stream = (found.secs_per_byte > 0.0).then(|| Rate(1.0 / found.secs_per_byte));
        fitted += u32::from(stream.is_some());
        match op {
            Op::Read => profile.read.stream = stream,
            Op::Write => profile.write.stream = stream,
            _ => {}
        }
    }
    (profile, fitted)
}

#[cfg(test)]
mod tests;
