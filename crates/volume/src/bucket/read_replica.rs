//! A reader of a volume that another machine writes: its tree is made here of placeholders, as a
//! writer's is on a new machine, and shown read-only. It looks for the next segment of the log every
//! now and then, and changes the local tree as that says. A file whose bytes are others is another
//! file here, put in its place at once, so that who has the old one open never sees both. Nothing is
//! ever written to the bucket.

mod apply;
mod backend;
mod local_tree;
mod replica_errors;
mod replica_setup;
mod tail;
mod touched;
mod worker;

use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;

use super::BucketError;
use super::evicted_files::evicted_set::ContentLocator;
use super::evicted_files::{self, EvictedFiles};
use super::file_blocks::FileBlocks;
use super::health::Health;
use super::peers::{PeerGroup, share_with_peers};
use super::placeholder::is_evicted;
use super::request::Bucket;
use super::state_directory::StateDirectory;
use crate::backend::TreeServer;
use forebay_objstore::RetryWindow;
use forebay_objstore::{BucketClient, BucketSettings, RequestError};
use forebay_os::file_identity::FileIdentity;
use local_tree::LocalTree;
pub(super) use replica_setup::open_read_replica;
use tail::Tail;
use worker::ReplicaWorker;

/// For how long who misses bytes waits until the log has been looked at.
const LOOKED_WITHIN: Duration = Duration::from_secs(20);

/// A volume in a bucket that is to be read alone.
#[derive(Debug, Clone)]
pub struct ReplicaOptions {
    /// `s3://BUCKET/PREFIX`
    pub url: String,
    /// How the bucket is reached.
    pub settings: BucketSettings,
    /// Where its files are kept on this machine as long as it is mounted.
    pub state: PathBuf,
    /// That directory and no other: else, while somebody uses it, one beside it.
    pub is_named: bool,
    /// Between two looks at the log.
    pub every: Duration,
    /// For how long a bucket that does not answer is waited for by who reads.
    pub patience: RetryWindow,
}

/// All that is needed to serve it: nothing of a client is left in it.
#[derive(Debug)]
pub(crate) struct PreparedReplica {
    wanted: ReplicaOptions,
    state: StateDirectory,
    shown: LocalTree,
    tail: Tail,
    away: Vec<(FileIdentity, u64, evicted_files::EvictedFile)>,
}

impl PreparedReplica {
    /// The directory that stands for it here.
    pub(crate) fn tree_directory(&self) -> PathBuf {
        self.state.tree_directory()
    }
}

/// A volume that is followed.
#[derive(Debug)]
pub(crate) struct ReadReplica {
    url: String,
    bodies: Arc<EvictedFiles>,
    health: Arc<Health>,
    shown: Mutex<LocalTree>,
    every: Duration,
    call: Mutex<RefreshRequests>,
    called: Condvar,
    /// Nobody else uses the directory as long as this is mounted.
    state: StateDirectory,
}

/// Looks at the log that were asked for, and those that are done.
#[derive(Debug, Default)]
struct RefreshRequests {
    asked: u64,
    done: u64,
    /// Nobody uses the volume any more.
    is_over: bool,
}

impl ReadReplica {
    /// Begins to follow a volume; `serve` makes what serves the local tree.
    ///
    /// # Errors
    /// When the bucket's client can't be made, or there is no thread.
    pub(crate) fn start<S: TreeServer + 'static>(
        followed: PreparedReplica,
        peers: Option<&Arc<PeerGroup>>,
        serve: impl FnOnce(Arc<ReadReplica>) -> S,
    ) -> io::Result<Arc<S>> {
        let lost = |failed: RequestError| io::Error::new(failed.kind, failed.why);
        let wanted = &followed.wanted;
        let bucket = BucketClient::open(&wanted.url, wanted.settings.clone()).map_err(lost)?;
        let (follow, mut worker) = ReadReplica::with_bucket(
            share_with_peers(peers, &wanted.url, Arc::new(bucket)),
            followed,
        );
        let server = Arc::new(serve(follow));
        let known: Weak<dyn TreeServer> = Arc::<S>::downgrade(&server);
        worker.server = Some(known);
        let work = move || worker.run_until_over();
        std::thread::Builder::new().name("forebay-follow".into()).spawn(work)?;
        Ok(server)
    }

    fn with_bucket(
        bucket: Arc<dyn Bucket>,
        followed: PreparedReplica,
    ) -> (Arc<ReadReplica>, ReplicaWorker) {
        let PreparedReplica { wanted, state, shown, tail, away } = followed;
        let health = Arc::new(Health::for_mount(&state.folder));
        let patience = (wanted.patience, Arc::clone(&health));
        let bodies = Arc::new(EvictedFiles::new(Arc::clone(&bucket), away, patience));
        let follow = Arc::new(ReadReplica {
            url: wanted.url,
            bodies,
            health,
            shown: Mutex::new(shown),
            every: wanted.every,
            call: Mutex::default(),
            called: Condvar::new(),
            state,
        });
        let behind: Weak<dyn ContentLocator> = Arc::<ReadReplica>::downgrade(&follow);
        follow.bodies.set_behind(behind);
        let worker = ReplicaWorker::with_tail(Arc::clone(&follow), bucket, tail);
        (follow, worker)
    }

    /// The body of a file that was opened, if its bytes are not all here.
    ///
    /// # Errors
    /// EIO: they can't be had. ESTALE: another file has its name by now.
    fn open_evicted_file(
        &self,
        identity: &FileIdentity,
        file: BorrowedFd<'_>,
    ) -> evicted_files::Result<Option<Arc<FileBlocks>>> {
        match self.bodies.open_evicted_file(identity, file)? {
            // A hole of which nobody knows any more whose it was.
            None if is_evicted(file) => Err(Errno::STALE),
            body => Ok(body),
        }
    }

    /// Nobody uses the volume any more. Tells what went wrong.
    pub(super) fn end_following(&self) -> Vec<String> {
        self.call.lock().is_over = true;
        self.called.notify_all();
        self.error_messages()
    }

    /// Why its bucket can't be used just now.
    fn unreachable_message(&self) -> Option<String> {
        self.health.current_error().map(|why| format!("{} is out of reach: {why}", self.url))
    }

    /// What was kept here goes, after everybody was told of the end.
    fn remove_local_tree(&self) {
        // What is being applied is applied, and nothing comes after it.
        let _shown = self.shown.lock();
        // What stays is removed by the next that follows it.
        let _ = local_tree::remove_recursively(&self.state.tree_directory());
        let _ = local_tree::remove_recursively(&self.state.staging_directory());
    }
}

impl ContentLocator for ReadReplica {
    fn refresh_now(&self) {
        let mut call = self.call.lock();
        call.asked += 1;
        let mine = call.asked;
        self.called.notify_all();
        while call.done < mine && !call.is_over {
            if self.called.wait_for(&mut call, LOOKED_WITHIN).timed_out() {
                return;
            }
        }
    }

    fn display_path(&self, number: u64) -> Option<String> {
        self.shown.lock().display_path(number)
    }
}

#[cfg(test)]
mod tests;
