//! What Forebay itself costs where it puts files: programs wait for it at each operation on a name,
//! and it asks the storage in place more than they do. A choice that leaves all files in place
//! needs no Forebay, and is simulated without; so are published studies, where something else moved
//! the files.

use super::ResolvedChoice;
use forebay_model::{Op, Seconds, Workload};

/// What Forebay costs beside what storage does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForebayOverhead {
    /// What one request takes on its way to Forebay and back.
    pub request: Seconds,
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

impl ResolvedChoice {
    /// Whether rules for it let answers count for a second: those that pack files do.
    pub(crate) fn asks_once(&self) -> bool {
        self.of_class.iter().any(|home| home.layout.is_packed())
    }

    /// Whether Forebay is needed for it.
    pub(crate) fn needs_forebay(&self) -> bool {
        self.of_class.iter().any(|home| home.row != self.project || home.cache.is_some())
    }
}
