//! A directory that stands for a volume in a bucket: what changes in it goes there in the
//! background, one cut after the other, and what is only there comes when it is read.

mod backend;
mod backpressure;
mod copy_status;
mod eviction_retry;
mod sync_requests;
mod worker;

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};
use std::time::Duration;

use forebay_model::{BucketRules, FsyncTarget};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashSet;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::commit_upload::{CommitUploader, MoveObserver};
use super::dirty_names::DirtyNameTracker;
use super::evicted_files::EvictedFiles;
use super::health::Health;
use super::log::Log;
use super::peers::{PeerGroup, share_with_peers};
use super::request::Bucket;
use super::state_directory::StateDirectory;
use super::volume_opening::OpenedVolume;
use crate::backend::TreeServer;
use crate::ipc::{BucketWaiting, UploadReport, WriteBackProgress};
use backpressure::LocalSpace;
use forebay_objstore::{BucketClient, RequestError};
use worker::{FsyncBatching, UploadRetry, UploadWorker};

/// Between two words on how far it is.
const NAP: Duration = Duration::from_millis(20);
/// Naps after which it is said what is waited for: after 2 s and 10 s, and each minute.
const SAID_AFTER: [u64; 2] = [100, 500];
const SAID_EVERY: u64 = 3000;

/// A local tree and its bucket.
#[derive(Debug)]
pub(crate) struct LocalCopy {
    marks: DirtyNameTracker,
    bodies: Arc<EvictedFiles>,
    health: Arc<Health>,
    root: OwnedFd,
    durable: FsyncTarget,
    rules: Arc<BucketRules>,
    told: Mutex<UploadReport>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    progress: Mutex<WriteBackProgress>,
    fill: LocalSpace,
    /// Held to read while a file is opened.
    opening: RwLock<()>,
    /// The first segment that can have what is changed now.
    next_segment: AtomicU64,
    /// Nobody else uses the directory as long as this is mounted.
    state: StateDirectory,
}

impl LocalCopy {
    /// Begins to bring a volume to its bucket; `serve` makes what serves the local tree.
    ///
    /// # Errors
    /// When the bucket's client can't be made, or the directory is gone.
    pub(crate) fn start<S: TreeServer + 'static>(
        opened: OpenedVolume,
        peers: Option<&Arc<PeerGroup>>,
        serve: impl FnOnce(Arc<LocalCopy>) -> S,
    ) -> std::io::Result<Arc<S>> {
        let OpenedVolume { wanted, state, journal, at, tree, mut scan, away, .. } = opened;
        scan.set_layout_rules(Arc::clone(&wanted.rules));
        let lost = |failed: RequestError| std::io::Error::new(failed.kind, failed.why);
        let bucket = BucketClient::open(&wanted.url, wanted.settings.clone()).map_err(lost)?;
        let bucket = Arc::new(bucket);
        let requests = || Arc::clone(&bucket) as Arc<dyn Bucket>;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, state.tree_directory(), flags, Mode::empty())?;
        let told = UploadReport {
            url: wanted.url.clone(),
            kept: state.tree_directory(),
            ..UploadReport::default()
        };
        let health = Arc::new(Health::for_mount(&state.folder));
        let patience = (wanted.patience.clone(), Arc::clone(&health));
        let shared = share_with_peers(peers, &wanted.url, requests());
        let mirror = Arc::new(LocalCopy {
            marks: DirtyNameTracker::default(),
            bodies: Arc::new(EvictedFiles::new(shared, away, patience)),
            health,
            root,
            durable: wanted.durable,
            rules: Arc::clone(&wanted.rules),
            told: Mutex::new(told),
            thread: Mutex::new(None),
            progress: Mutex::default(),
            fill: LocalSpace::new(wanted.space),
            opening: RwLock::new(()),
            next_segment: AtomicU64::new(at.next),
            state,
        });
        let server = Arc::new(serve(Arc::clone(&mirror)));
        let known: Weak<dyn TreeServer> = Arc::<S>::downgrade(&server);
        let log = Log::resume_at(requests(), at, mirror.state.volume.me.clone());
        let volume = mirror.state.volume.me.clone();
        let mut ship = CommitUploader::for_tree(requests(), (log, tree), scan, volume);
        ship.set_readers(Arc::clone(&mirror.bodies) as Arc<dyn MoveObserver>);
        let mut worker = UploadWorker {
            mirror: Arc::clone(&mirror),
            server: known,
            ship,
            journal,
            wanted,
            bucket,
            synced: FxHashSet::default(),
            grown: u64::MAX,
            again: eviction_retry::EvictionRetry::default(),
            crowd: FsyncBatching::default(),
            tries: UploadRetry::default(),
        };
        let work = move || worker.run_until_over();
        let thread = std::thread::Builder::new().name("forebay-ship".into()).spawn(work)?;
        *mirror.thread.lock() = Some(thread);
        Ok(server)
    }

    /// Nobody uses the volume any more: waits until the bucket has all of it. Tells how far it is
    /// now and then, and rarely what is in the way.
    fn finish_upload(
        &self,
        tell: &dyn Fn(&WriteBackProgress),
        waits: &dyn Fn(&BucketWaiting),
    ) -> UploadReport {
        self.marks.lock_noted().over = true;
        self.marks.call.notify_all();
        // What is here goes to the disk while the rest goes to the bucket.
        let flush = std::fs::File::open(&self.state.folder)
            .map(|folder| std::thread::spawn(move || rustix::fs::syncfs(folder)));
        if let Some(thread) = self.thread.lock().take() {
            for nap in 1u64.. {
                if thread.is_finished() {
                    break;
                }
                std::thread::sleep(NAP);
                tell(&self.progress.lock());
                if (SAID_AFTER.contains(&nap) || nap.is_multiple_of(SAID_EVERY))
                    && let Some(why) = self.health.current_error()
                {
                    waits(&self.waiting_report(why));
                }
            }
            if thread.join().is_err() {
                self.told.lock().left =
                    Some("the thread that copies files to the bucket is gone".to_owned());
            }
        }
        drop(flush.map(std::thread::JoinHandle::join));
        self.bodies.stop_accepting();
        // Else nothing that is here is believed after a power failure, and nothing more is lost.
        if let Err(error) = self.state.end_session() {
            tracing::error!("{}: {error}", self.state.folder.display());
        }
        self.told.lock().clone()
    }

    fn waiting_report(&self, why: String) -> BucketWaiting {
        let WriteBackProgress { files, bytes, .. } = *self.progress.lock();
        let files = (files.1.saturating_sub(files.0), bytes.1.saturating_sub(bytes.0));
        let UploadReport { url, kept, .. } = self.told.lock().clone();
        BucketWaiting { url, why, files, kept }
    }

    /// Opens a file of the local tree to read.
    fn open_to_read(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).peekable();
        let mut folder = None;
        while let Some(part) = parts.next() {
            let kind = match parts.peek() {
                Some(_) => OFlags::DIRECTORY,
                None => OFlags::NONBLOCK,
            };
            let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | kind;
            let next = openat(folder.as_ref().unwrap_or(&self.root), part, how, Mode::empty())?;
            folder = Some(next);
        }
        folder.ok_or(Errno::ISDIR)
    }
}
