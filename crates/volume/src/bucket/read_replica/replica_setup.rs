//! Opening a volume to read it alone: its log is read, and a directory is made as that says. Nothing
//! of the client is left when it is done: this process is about to fork.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::super::state_directory::{StateDirectory, StateOwner};
use super::local_tree::{Changes, LocalTree};
use super::tail::Tail;
use super::{BucketError, PreparedReplica, ReplicaOptions};
use forebay_objstore::BucketClient;

/// Readers of one volume on one machine at a time.
const MOST: u32 = 256;

/// Opens it; the bucket is asked first, so that what refuses says why.
///
/// # Errors
/// Why it can't be.
pub(in crate::bucket) fn open_read_replica(
    wanted: ReplicaOptions,
) -> Result<PreparedReplica, BucketError> {
    let objects = BucketClient::open(&wanted.url, wanted.settings.clone())?;
    let tail = Tail::open_at_end(&objects)?;
    make_local_tree(wanted, tail)
}

/// Makes the local tree.
pub(super) fn make_local_tree(
    wanted: ReplicaOptions,
    tail: Tail,
) -> Result<PreparedReplica, BucketError> {
    let at = |error| BucketError::State(wanted.state.clone(), error);
    let state = lock_state_directory(&wanted).map_err(at)?;
    let mut away = Vec::new();
    let mut shown = LocalTree::new(&state).map_err(at)?;
    let mut learn = |one| away.push(one);
    // Nobody looks yet.
    let filled = shown.fill_whole_tree(tail.tree(), &mut learn, &mut Changes::default());
    filled.map_err(|error| at(error.into()))?;
    Ok(PreparedReplica { wanted, state, shown, tail, away })
}

fn lock_state_directory(wanted: &ReplicaOptions) -> std::io::Result<StateDirectory> {
    let volume = || StateOwner { url: wanted.url.clone(), me: String::new(), is_reader: true };
    if wanted.is_named {
        return StateDirectory::lock_directory_as(&wanted.state, volume());
    }
    for number in 1..=MOST {
        let folder = match number {
            1 => wanted.state.clone(),
            number => {
                let mut name = wanted.state.clone().into_os_string();
                name.push(format!("%{number}"));
                PathBuf::from(name)
            }
        };
        match StateDirectory::try_lock_directory(&folder, volume()) {
            // Another reader on this machine has it; or, as long as a name may be, another volume.
            Err(error) if matches!(error.kind(), ErrorKind::ResourceBusy) => {}
            taken => return taken,
        }
    }
    Err(ErrorKind::ResourceBusy.into())
}
