//! What Forebay itself costs where it puts files: programs wait for it at each operation on a name,
//! and it asks the storage in place more than they do. A choice that leaves all files in place
//! needs no Forebay, and is simulated without; so are published studies, where something else moved
//! the files.

use super::{PreparedProblem, ResolvedChoice};
use forebay_model::workload::{DeletionPoint, FileSet};
use forebay_model::{Op, OpKey, Seconds, Workload};
use std::collections::BTreeMap;

/// What Forebay costs beside what storage does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForebayOverhead {
    /// What one request takes on its way to Forebay and back.
    pub request: Seconds,
    /// Rules that pack files let answers about names in place count for a second (`metadata_cache`), as
    /// those of plans do.
    pub remembers_answers: bool,
}

/// What Forebay asks of the storage in place when a program makes a file that a rule sends to a tier
/// as a plain one, beside the link that it makes there: whether the name is free, whether the
/// directory has an access control list, the new link and where it leads. Counted on an emulated
/// storage, at its server: 2 look-ups, 2 getattr, 1 getxattr, 1 symlink and 1 readlink a file, of
/// which programs ask for a look-up and a getattr, and the symlink takes the place of their create.
pub(super) const OF_TIERED: &[(Op, f64)] =
    &[(Op::Lookup, 1.0), (Op::Getattr, 1.0), (Op::Xattr, 1.0), (Op::Readlink, 1.0)];

/// What Forebay asks of the storage in place when a program makes a file that stays there, beside
/// the program's own create: the kernel opens what Forebay lends to it, the attributes of the new
/// file are asked for, and half of the names are looked up again before they are made. Counted at an
/// emulated server: 3,003 creates of one pipeline and 461 of another one brought 3,603 and 821 opens,
/// 2,460 and 454 getattr, 1,791 and 24 look-ups of names that are not there.
pub(super) const OF_IN_PLACE: &[(Op, f64)] =
    &[(Op::Open, 1.2), (Op::Getattr, 0.9), (Op::LookupFailed, 0.5)];

/// What Forebay asks of the storage in place for a directory that a program makes and that gets packed
/// names: whether it hands down a list of rights, its times when names in it have changed, and the
/// attributes of the directory above, which has changed. Counted as above: 600 directories brought 600
/// getxattr and 1,200 setattr, 20 brought 21 and 42.
pub(super) const OF_PACKED_DIRECTORY: &[(Op, f64)] =
    &[(Op::Xattr, 1.0), (Op::Setattr, 2.0), (Op::Getattr, 1.0)];

/// What a run with rules asks of the storage in place, one after the other, before its command starts
/// and after it has ended, whatever it does: its own folder, its lock, its list of tiers. Counted as
/// above, around a command that does nothing.
const OF_RUN: &[(Op, f64)] = &[
    (Op::LookupFailed, 12.0),
    (Op::Getattr, 11.0),
    (Op::Opendir, 4.0),
    (Op::Create, 3.0),
    (Op::Unlink, 3.0),
    (Op::Statfs, 3.0),
    (Op::Readdir, 2.0),
    (Op::Mkdir, 1.0),
    (Op::Rename, 1.0),
    (Op::Fsync, 1.0),
    (Op::Rmdir, 1.0),
];

/// What it asks for a directory when it looks for the links of plain files in the end; as many
/// directories at a time as [`LISTED_AT_ONCE`].
const OF_LISTED_DIRECTORY: &[(Op, f64)] =
    &[(Op::Lookup, 1.0), (Op::Getattr, 1.0), (Op::Opendir, 1.0), (Op::Readdir, 2.0)];
const LISTED_AT_ONCE: f64 = 16.0;

/// How many times such a walk waits for directories: once for each level of the tree, and once more
/// for each so many.
pub(super) fn walk_rounds(workload: &Workload) -> f64 {
    let mut parents: BTreeMap<&str, u64> = BTreeMap::new();
    for class in &workload.classes {
        let known = parents.entry(class.parent_pattern()).or_default();
        *known = class.directories.max(*known).max(1);
    }
    let level = |parent: &&str| parent.split('/').filter(|part| !part.is_empty()).count();
    let levels = 1 + parents.keys().map(level).max().unwrap_or(0);
    levels as f64 + parents.values().sum::<u64>() as f64 / LISTED_AT_ONCE
}

/// For each class the part of its questions for attributes that is left where answers count for a
/// second: each file or directory is asked for once, and each second somebody asks for one again.
pub(super) fn asked_shares(workload: &Workload) -> Vec<f64> {
    let mut objects = vec![0.0; workload.classes.len()];
    let mut asks = vec![0.0; workload.classes.len()];
    for set in &workload.files {
        objects[set.class.index()] += set.count as f64;
    }
    let mut seconds = 0.0;
    for step in workload.tasks.iter().flat_map(|task| &task.steps) {
        seconds += step.compute.get();
        for access in &step.accesses {
            let class = workload.files[access.files.index()].class.index();
            for (key, count) in &access.ops {
                match key.op() {
                    Op::Mkdir => objects[class] += count,
                    op if is_asked_once(op) => asks[class] += count,
                    _ => {}
                }
            }
        }
    }
    let share = |(objects, asks): (f64, f64)| {
        let left = objects.max(1.0) + seconds;
        if asks > left { left / asks } else { 1.0 }
    };
    objects.into_iter().zip(asks).map(share).collect()
}

/// Answers that count for a second where rules say so.
pub(super) fn is_asked_once(op: Op) -> bool {
    matches!(op, Op::Getattr | Op::Lookup)
}

impl PreparedProblem<'_> {
    /// What a run takes beside its tasks and its files on their way home.
    pub(crate) fn own_run_time(&self, homes: &ResolvedChoice) -> Seconds {
        if self.own.is_none() || !homes.needs_forebay() {
            return Seconds::ZERO;
        }
        let Some(storage) = self.storages[self.tiers[homes.project].storage].profile else {
            return Seconds::ZERO;
        };
        let takes = |asks: &[(Op, f64)]| -> f64 {
            let of = |(op, times): &(Op, f64)| {
                storage.operation_latency(OpKey::without_bytes(*op)).get() * times
            };
            asks.iter().map(of).sum()
        };
        let leaves_link = |(set, files): (usize, &FileSet)| {
            let home = &homes.of_class[files.class.index()];
            let stays = self.made[set] && files.until == DeletionPoint::End;
            stays && home.row != homes.project && !home.layout.is_packed()
        };
        let walks = self.workload.files.iter().enumerate().any(leaves_link);
        let walk = if walks { self.walk_rounds * takes(OF_LISTED_DIRECTORY) } else { 0.0 };
        Seconds(takes(OF_RUN) + walk)
    }
}

impl ResolvedChoice {
    /// Whether it packs files: rules of plans that do so let answers count for a second.
    pub(crate) fn packs_files(&self) -> bool {
        self.of_class.iter().any(|home| home.layout.is_packed())
    }

    /// Whether Forebay is needed for it.
    pub(crate) fn needs_forebay(&self) -> bool {
        self.of_class.iter().any(|home| home.row != self.project || home.cache.is_some())
    }
}
