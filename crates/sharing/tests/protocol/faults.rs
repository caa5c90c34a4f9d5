//! Faults that the model is seeded with, each of which it has to find.

use super::model::{Limits, NO_LIMITS};

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    LooksIntoTheBookOnly,
    GivesUpWithoutPublishing,
    LeaseEndsEarly,
    NoEpochCheck,
    BelievesAFormerHolder,
    AnswersBeforePublishing,
    ChangesPastItsLease,
    LooksPastItsLease,
    PublishesOneFolder,
    GivesUpWhatARenamePins,
    PinsInTheOrderOfWords,
    KeepsTheRestAfterALoss,
    CommonWithoutALook,
    MovesIntoCommonByHalves,
    PlaceBeforeUpload,
    BytesGoBeforeThePlaceIsPublished,
    UploadsUnderOneKey,
    LocksWithoutAsking,
    TakesSilenceForNo,
    ForgetsLockersWhenGivingUp,
    KeepsLocksPastItsLease,
    LocksWhatItHoldsNoLonger,
}

pub(crate) const STALE: &str = "a look that begins after a close finds it";
pub(crate) const SEEN: &str = "what another node has seen is not lost";
pub(crate) const HOLDERS: &str = "one node at most takes changes";
pub(crate) const RENAME: &str = "a rename is in both folders or in none";
pub(crate) const CIRCLE: &str = "nodes do not wait for each other in a circle";
pub(crate) const BYTES: &str = "bytes are those of the name, or their node is lost";
pub(crate) const LOCK: &str = "one node at most has the lock";
/// This is to happen, else the model says little.
pub(crate) const ANSWERED: &str = "a look is answered by another node";

/// One write by one node after another, one look.
const ONE_FOLDER: Limits = Limits { writes: 2, looks: 1, deaths: 1, cuts: 1, ..NO_LIMITS };
const RENAMES: Limits = Limits { moves: 2, looks: 1, deaths: 1, cuts: 1, nodes: 2, ..NO_LIMITS };
const COMMON: Limits = Limits { switches: 2, ..ONE_FOLDER };
const LOCKS: Limits = Limits { locks: 3, deaths: 1, cuts: 1, ..NO_LIMITS };
const LONG: Limits = Limits { uploads: 2, ..ONE_FOLDER };

/// Fault, the limits within which it shows, and the properties of which one breaks.
pub(crate) const FAULTS: &[(Fault, Limits, &[&str])] = &[
    (Fault::LooksIntoTheBookOnly, ONE_FOLDER, &[STALE]),
    (Fault::GivesUpWithoutPublishing, ONE_FOLDER, &[STALE]),
    (Fault::LeaseEndsEarly, ONE_FOLDER, &[HOLDERS, STALE]),
    (Fault::NoEpochCheck, ONE_FOLDER, &[STALE, SEEN]),
    (Fault::BelievesAFormerHolder, ONE_FOLDER, &[STALE, SEEN]),
    (Fault::AnswersBeforePublishing, Limits { looks: 2, ..ONE_FOLDER }, &[SEEN]),
    (Fault::ChangesPastItsLease, ONE_FOLDER, &[HOLDERS]),
    (Fault::LooksPastItsLease, ONE_FOLDER, &[STALE, SEEN]),
    (Fault::PublishesOneFolder, RENAMES, &[RENAME]),
    (Fault::GivesUpWhatARenamePins, RENAMES, &[RENAME]),
    (Fault::PinsInTheOrderOfWords, RENAMES, &[CIRCLE]),
    (Fault::KeepsTheRestAfterALoss, RENAMES, &[RENAME]),
    (Fault::CommonWithoutALook, COMMON, &[STALE, SEEN]),
    (Fault::MovesIntoCommonByHalves, Limits { switches: 1, ..RENAMES }, &[RENAME]),
    (Fault::PlaceBeforeUpload, LONG, &[BYTES]),
    (Fault::BytesGoBeforeThePlaceIsPublished, LONG, &[BYTES]),
    (Fault::UploadsUnderOneKey, LONG, &[BYTES]),
    (Fault::LocksWithoutAsking, LOCKS, &[LOCK]),
    (Fault::TakesSilenceForNo, LOCKS, &[LOCK]),
    (Fault::ForgetsLockersWhenGivingUp, LOCKS, &[LOCK]),
    (Fault::KeepsLocksPastItsLease, LOCKS, &[LOCK]),
    (Fault::LocksWhatItHoldsNoLonger, LOCKS, &[LOCK]),
];
