//! A prefix of somebody's bucket that is attached to a volume: shown as a directory in which
//! nothing can be changed. A folder is listed when somebody first looks into it, and its files are
//! placeholders whose bytes come when they are read (`evicted_files`), of the very state of the
//! object that was listed. What has come stays on this machine for the next run. Nothing is ever
//! written to the bucket.

mod backend;
mod fill;
mod prefix_directory;
mod prefix_errors;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use rustix::io::Errno;

use super::evicted_files;
use super::evicted_files::{EvictedFile, EvictedFiles, FailedReads};
use super::file_blocks::FileBlocks;
use super::health::Health;
use super::peers::{PeerGroup, share_with_peers};
use super::request::Bucket;
use super::volume_opening::BucketError;
use crate::backend::FolderOpener;
use fill::fill_directory;
use forebay_objstore::{BucketClient, BucketSettings, FolderListing, RequestError};
use forebay_objstore::{RetryWindow, retry_patiently};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};
pub(crate) use prefix_directory::AttachmentDirectory;
pub use prefix_directory::directory_name_for;

/// How attached buckets are reached, and where what has been read of them is kept.
#[derive(Debug, Clone)]
pub struct BucketAccess {
    /// Keys and endpoints.
    pub settings: BucketSettings,
    /// A directory of this machine and this user; it need not be there.
    pub state: PathBuf,
}

/// A prefix that is about to be shown: nothing of a client is left in it.
#[derive(Debug)]
pub(crate) struct PreparedPrefix {
    url: String,
    settings: BucketSettings,
    held: AttachmentDirectory,
    /// The number of its directory, which is listed.
    root: u64,
    away: Vec<(FileIdentity, u64, EvictedFile)>,
    odd: Vec<String>,
}

impl PreparedPrefix {
    /// The directory that stands for it here.
    pub(crate) fn tree_directory(&self) -> PathBuf {
        self.held.tree_directory()
    }

    /// `s3://BUCKET/PREFIX`
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

/// Asks the bucket for a first listing, and takes a directory for what will come.
///
/// # Errors
/// What the bucket says, or the file system of the directory.
pub(crate) fn attach_prefix(url: &str, ways: &BucketAccess) -> Result<PreparedPrefix, BucketError> {
    let folder = BucketClient::open(url, ways.settings.clone())?.list_folder("")?;
    attach_listed(&folder, url, ways)
}

fn attach_listed(
    folder: &FolderListing,
    url: &str,
    ways: &BucketAccess,
) -> Result<PreparedPrefix, BucketError> {
    let at = |error| BucketError::State(ways.state.clone(), error);
    let held = AttachmentDirectory::lock_unused_directory(&ways.state, url).map_err(at)?;
    let root = held.open_tree().map_err(at)?;
    let filled = fill_directory(&root, folder, "").map_err(at)?;
    let root = statx_nofollow(root.as_fd(), c"").map_err(|error| at(error.into()))?.stx_ino;
    let (url, settings) = (url.to_owned(), ways.settings.clone());
    Ok(PreparedPrefix { url, settings, held, root, away: filled.away, odd: filled.odd })
}

/// A prefix that is shown.
#[derive(Debug)]
pub(crate) struct Prefix {
    url: String,
    bucket: Arc<dyn Bucket>,
    bodies: Arc<EvictedFiles>,
    /// Directories that somebody looked into, by their numbers.
    folders: RwLock<FxHashMap<u64, Arc<ListingState>>>,
    /// Folders that could not be listed.
    unlisted: FailedReads,
    /// Keys that no file can have for a name.
    odd: Mutex<Vec<String>>,
    /// The bucket has not answered for minutes.
    gone: AtomicBool,
    held: AttachmentDirectory,
}

/// Held by who lists a folder.
#[derive(Debug, Default)]
struct ListingState {
    is_listed: AtomicBool,
    only: Mutex<()>,
}

impl Prefix {
    /// Begins to serve it.
    ///
    /// # Errors
    /// When the bucket's client can't be made.
    pub(crate) fn start(
        lent: PreparedPrefix,
        peers: Option<&Arc<PeerGroup>>,
    ) -> io::Result<Arc<Prefix>> {
        let lost = |failed: RequestError| io::Error::new(failed.kind, failed.why);
        let bucket = BucketClient::open(&lent.url, lent.settings.clone()).map_err(lost)?;
        let bucket = share_with_peers(peers, &lent.url, Arc::new(bucket));
        Ok(Arc::new(Prefix::with_bucket(bucket, lent)))
    }

    fn with_bucket(bucket: Arc<dyn Bucket>, lent: PreparedPrefix) -> Prefix {
        let root = ListingState { is_listed: AtomicBool::new(true), only: Mutex::default() };
        let folders = [(lent.root, Arc::new(root))].into_iter().collect();
        let bodies = EvictedFiles::new(
            Arc::clone(&bucket),
            lent.away,
            (RetryWindow::default(), Arc::new(Health::without_note())),
        );
        if lent.held.can_seek_holes() {
            bodies.retain_partial_files();
        }
        Prefix {
            url: lent.url,
            bodies: Arc::new(bodies),
            bucket,
            folders: RwLock::new(folders),
            unlisted: FailedReads::default(),
            odd: Mutex::new(lent.odd),
            gone: AtomicBool::new(false),
            held: lent.held,
        }
    }

    /// Whether a directory has been listed.
    fn has_listed(&self, number: u64) -> bool {
        self.folders.read().get(&number).is_some_and(|looked| looked.is_listed.load(Acquire))
    }

    /// Somebody is about to look into a directory: it is listed, if it was not. `open` gives its
    /// path, and it itself, open to read. The caller acts for itself here.
    ///
    /// # Errors
    /// EIO: it can't be listed.
    fn list_directory_once(&self, number: u64, open: FolderOpener<'_>) -> Result<(), Errno> {
        let known = self.folders.read().get(&number).cloned();
        let looked =
            known.unwrap_or_else(|| Arc::clone(self.folders.write().entry(number).or_default()));
        if looked.is_listed.load(Acquire) {
            return Ok(());
        }
        let _only = looked.only.lock();
        if looked.is_listed.load(Acquire) {
            return Ok(());
        }
        let (path, dir) = open()?;
        let path = String::from_utf8(path).map_err(|_| Errno::IO)?;
        let listed = retry_patiently(&self.gone, &RetryWindow::default(), || {
            self.bucket.list_with_delimiter(&path)
        });
        let filled =
            listed.and_then(|folder| Ok(fill_directory(&dir, &folder, &format!("{path}/"))?));
        let filled = filled.map_err(|failed| self.unlisted.note_failure(&path, &failed))?;
        self.bodies.add_evicted_files(filled.away);
        // Nobody asks which files have come.
        drop(self.bodies.take_arrived());
        self.odd.lock().extend(filled.odd);
        looked.is_listed.store(true, Release);
        Ok(())
    }

    /// The body of a file that was opened, if its bytes are not all here.
    ///
    /// # Errors
    /// EIO: they can't be had. ESTALE: the object is another one.
    fn open_evicted_file(
        &self,
        identity: &FileIdentity,
        file: BorrowedFd<'_>,
    ) -> evicted_files::Result<Option<Arc<FileBlocks>>> {
        self.bodies.pin_version(identity)?;
        self.bodies.open_evicted_file(identity, file)
    }
}

#[cfg(test)]
mod tests;
