//! What starting a run and making a lasting mount have in common.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

use forebay_os::forks;

use crate::bucket::{PeerOptions, PeerSetup};
use crate::overmount::{self, RefusedDirectory};
use crate::tiers::{CacheWarmReport, PlacementOptions, Purpose, TierError, Tiers};

/// Why nothing was run.
#[derive(Debug)]
pub enum LaunchError {
    /// A tree can't be managed.
    Refused(RefusedDirectory),
    /// A volume in a bucket can't be used.
    Bucket(crate::bucket::BucketError),
    /// A volume that several nodes write can't be used.
    Shared(crate::shared_volume::SharedError),
    /// A tier can't be used.
    Tier(TierError),
    /// The recorder that was asked for can't record this run: why.
    NoRecorder {
        /// Its name.
        recorder: &'static str,
        /// In words for a person.
        why: String,
    },
    /// FUSE or the namespaces are not to be had; the step and the system's word.
    Closed(String, io::Error),
    /// The command is not there.
    NotFound(OsString),
    /// The command can't be executed.
    NotExecutable(OsString, io::Error),
    /// Something else of the system's.
    System(String, io::Error),
}

pub(super) fn system_failure<E: Into<io::Error>>(step: &str) -> impl FnOnce(E) -> LaunchError {
    move |error| LaunchError::System(step.to_owned(), error.into())
}

pub(super) fn make_socket_pair() -> Result<(OwnedFd, OwnedFd), LaunchError> {
    forks::socket_pair().map_err(system_failure("making a socket pair"))
}

/// Takes the address where peers are to reach this node.
pub(super) fn bind_peers(wanted: Option<PeerOptions>) -> Result<Option<PeerSetup>, LaunchError> {
    let Some(wanted) = wanted else { return Ok(None) };
    let at = wanted.own.as_ref().map(|own| own.listen.to_string()).unwrap_or_default();
    wanted.bind().map(Some).map_err(system_failure(&format!("listening at {at} for peers")))
}

/// The tiers of each covered directory, in the order of the targets.
pub(super) fn open_tiers(
    plan: &overmount::OvermountPlan,
    placement: Option<&PlacementOptions>,
    told: fn(&CacheWarmReport),
) -> Result<Vec<Option<Tiers>>, TierError> {
    let mut numbers = plan.targets.len() as u16;
    let open = |target: &overmount::OvermountTarget| {
        if !target.asked {
            return Ok(None);
        }
        let purpose = placement.map_or(Purpose::Show, Purpose::Place);
        let mut tiers = Tiers::open(&target.path, purpose)?;
        if let Some(tiers) = &mut tiers {
            tiers.take_up_whole_folders()?;
            numbers += tiers.number_tier_directories(numbers);
            if let Some(warmed) = tiers.warm_cache(&target.path) {
                told(&warmed);
            }
        }
        Ok(tiers)
    };
    plan.targets.iter().map(open).collect()
}

/// What a run sees as a whole on tiers, and in words what it does not.
pub(super) fn prepare_whole_folders(
    plan: &mut overmount::OvermountPlan,
    tiers: &[Option<Tiers>],
    placement: Option<&PlacementOptions>,
) -> Result<Vec<String>, TierError> {
    let mut refused = Vec::new();
    let Some(placement) = placement else { return Ok(refused) };
    for (target, tiers) in plan.targets.iter().zip(tiers) {
        let Some(tiers) = tiers else { continue };
        let folders = tiers.prepare_whole_folders(&target.path, placement)?;
        plan.folders.extend(folders.ready);
        refused.extend(folders.refused);
    }
    Ok(refused)
}
