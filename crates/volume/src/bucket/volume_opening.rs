//! Opening a volume in a bucket: who writes it, what the bucket has of it, and what is here. Nothing
//! of the client is left when it is done: this process is about to fork.

mod bucket_error;
mod conditions;
mod rebuild;
mod tree_salvage;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_model::{BucketRules, FsyncTarget};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::evicted_files::EvictedFile;
use super::log::{Log, Position};
use super::newer_objects;
use super::placeholder::set_mtime;
use super::placeholder_tree;
use super::request::Bucket;
use super::scan::TreeScanner;
use super::state_directory::{Journal, StateDirectory};
use super::tree::VolumeTree;
use super::tree_record::ContentLocation;
use super::writer_note::VolumeWriter;
pub use bucket_error::BucketError;
use forebay_objstore::RetryWindow;
use forebay_objstore::{BucketClient, BucketSettings};
use forebay_os::file_identity::FileIdentity;

/// A volume in a bucket, and what this machine has of it.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// `s3://BUCKET/PREFIX`
    pub url: String,
    /// How the bucket is reached.
    pub settings: BucketSettings,
    /// Where its files are kept on this machine.
    pub state: PathBuf,
    /// A text that nobody else has, for a volume that is new here.
    pub me: String,
    /// This machine, in words.
    pub host: String,
    /// Seconds since 1970.
    pub now: i64,
    /// Whoever writes it now is to be shut out.
    pub take_over: bool,
    /// Bytes that its files may take on this machine's disk; `None`: what there is but for a rest.
    pub space: Option<u64>,
    /// Where the bytes are when fsync(2) returns, if no rule says more.
    pub durable: FsyncTarget,
    /// How files lie there, and what their fsync(2) waits for.
    pub rules: Arc<BucketRules>,
    /// For how long a bucket that does not answer is waited for.
    pub patience: RetryWindow,
}

/// All that is needed to serve it.
#[derive(Debug)]
pub(crate) struct OpenedVolume {
    pub(super) wanted: WriterOptions,
    pub(super) state: StateDirectory,
    pub(super) journal: Journal,
    pub(super) at: Position,
    pub(super) tree: VolumeTree,
    pub(super) scan: TreeScanner,
    pub(super) away: Vec<(FileIdentity, u64, EvictedFile)>,
    /// What people should know.
    pub(super) warning: Option<String>,
}

impl OpenedVolume {
    /// The directory that stands for it here.
    pub(crate) fn tree_directory(&self) -> PathBuf {
        self.state.tree_directory()
    }
}

/// Opens it as its writer.
///
/// # Errors
/// Why it can't be: nothing is changed then, here or there.
pub(crate) fn open_for_writing(wanted: WriterOptions) -> Result<OpenedVolume, BucketError> {
    let at = |error| BucketError::State(wanted.state.clone(), error);
    let state =
        StateDirectory::lock_directory(&wanted.state, &wanted.url, &wanted.me).map_err(at)?;
    let objects = BucketClient::open(&wanted.url, wanted.settings.clone())?;
    let me = state.volume.me.clone();
    let objects = Arc::new(objects);
    let bucket = Arc::clone(&objects) as Arc<dyn Bucket>;
    // A listing first: what refuses that says why.
    let (mut log, mut tree) = Log::open(Arc::clone(&bucket), me.clone())?;
    let writer = VolumeWriter::read_from_bucket(&*objects)?;
    // Nobody unmounted it.
    let was_left = writer.is_some();
    if let Some(writer) = writer.filter(|writer| writer.me != me && !wanted.take_over) {
        return Err(BucketError::Taken(writer));
    }
    if log.next_segment() == 0
        && let Some(foreign) = bucket.list_objects("")?.into_iter().next()
        && !foreign.name.starts_with(".forebay/")
    {
        return Err(BucketError::Foreign(foreign.name));
    }
    let known = state.read_journal().map_err(at)?;
    if known.next == 0 {
        conditions::probe_conditional_put(&*objects, &me)?;
    }
    let is_outdated =
        log.last_writer().is_some_and(|(number, who)| number >= known.next && who != me);
    let is_there = state.tree_directory().is_dir();
    if is_there && is_outdated && !known.clean {
        return Err(BucketError::Outdated(state.tree_directory()));
    }
    let last = log.last_writer().map_or(String::new(), |(_, who)| who.to_owned());
    let newer = if was_left {
        newer_objects::find_newer_objects(&objects, &mut tree, &last)?
    } else {
        None
    };
    let mut warning = None;
    if !is_there || is_outdated || !state.has_survived(known.clean) {
        let left = (is_there && !is_outdated).then_some((&known.learnt, log.commit_end()));
        warning =
            rebuild::rebuild_local_tree(&state, &tree, log.next_segment(), left).map_err(at)?;
    }
    // Before anything is changed here.
    state.begin_session().map_err(at)?;
    let known = state.read_journal().map_err(at)?;
    let root = open_root(&state.tree_directory()).map_err(at)?;
    let mut scan = TreeScanner::new(root).map_err(|error| at(error.into()))?;
    scan.restore_learnt(&known.learnt);
    let away = list_evicted_files(&state.tree_directory(), &tree, &scan).map_err(at)?;
    let host = wanted.host.clone();
    VolumeWriter { me: me.clone(), host, since: wanted.now }.overwrite_note(&objects)?;
    log.begin_as_writer(&me)?;
    if let Some(draft) = newer {
        log.write_segment(draft.encode_segment(log.next_segment()).into())?;
    }
    let journal = state.begin_journal(log.next_segment(), known.learnt, &tree).map_err(at)?;
    Ok(OpenedVolume { wanted, state, journal, at: log.position(), tree, scan, away, warning })
}

fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

/// The files whose bytes are in the bucket alone; bytes of which some have come since get their
/// own time again.
fn list_evicted_files(
    root: &Path,
    tree: &VolumeTree,
    scan: &TreeScanner,
) -> io::Result<Vec<(FileIdentity, u64, EvictedFile)>> {
    let marked = placeholder_tree::open_evicted_files(&open_root(root)?)?;
    let mut found = Vec::new();
    for (identity, file) in marked {
        let Some(ino) = scan.inode_number(&identity) else { continue };
        let Some(known) = tree.file(ino).filter(|known| known.place != ContentLocation::Empty)
        else {
            continue;
        };
        set_mtime(&file, known.attr.mtime)?;
        found.push((identity, ino, EvictedFile::from_file(known)));
    }
    Ok(found)
}
