//! Bringing what changed in a local tree to its bucket, one cut after the other. A cut is in the
//! bucket when its segment is, and that is written when all bytes are there that it speaks of. No
//! object is written over or removed that the log still needs for another file.

mod commit_status;
mod deferred_files;
mod layout_changes;
mod log_compaction;
mod moved_objects;
mod new_object_keys;
mod object_renames;
mod object_writes;
mod unread;

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use rustix::io::Errno;

use super::fetch::ContentFetcher;
use super::log::Log;
use super::request::Bucket;
use super::scan::{ScanResult, TreeScanner};
use super::tree::VolumeTree;
use super::tree_record::TreeRecord;
use forebay_objstore::RequestError;
use forebay_os::file_identity::FileIdentity;
use log_compaction::LogCompaction;
pub(crate) use moved_objects::{MoveObserver, MovedContent};
use moved_objects::{NoObserver, current_places};
use object_renames::ObjectRenames;
use unread::UnreadableFiles;

/// Names that may have changed: the folder's path, and the name in it.
pub(crate) type DirtyNames = BTreeSet<(Vec<u8>, CString)>;

/// Opens a file of the local tree by its path, to read.
pub(crate) type FileOpener<'a> = &'a (dyn Fn(&[u8]) -> Result<OwnedFd, Errno> + Sync);

/// What ships changes.
#[derive(Debug)]
pub(crate) struct CommitUploader {
    bucket: Arc<dyn Bucket>,
    log: Log,
    tree: VolumeTree,
    scan: TreeScanner,
    /// Tells the volume's own objects from others.
    volume: String,
    fetch: ContentFetcher,
    /// A cut that is not in the bucket yet.
    pending: Option<Pending>,
    moves: ObjectRenames,
    readers: Arc<dyn MoveObserver>,
    again: DirtyNames,
    unread: UnreadableFiles,
    short: LogCompaction,
    /// Where the log was when this began: nobody else has begun there. And names that were made.
    session: u64,
    fresh: AtomicU64,
}

/// A cut on its way.
#[derive(Debug)]
enum Pending {
    /// What was found; objects may be missing.
    Cut(Box<ScanResult>),
    /// All but its segment.
    Segment(Segment),
}

#[derive(Debug)]
struct Segment {
    bytes: Bytes,
    packed: Vec<u64>,
    laid: Vec<u64>,
    objects: u64,
}

/// What came into the bucket: a segment of so many bytes, and so many objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UploadedCommit {
    pub(crate) bytes: u64,
    pub(crate) objects: u64,
}

impl CommitUploader {
    /// For a local tree; where nothing is known of it, a cut of everything comes first.
    pub(crate) fn for_tree(
        bucket: Arc<dyn Bucket>,
        (log, tree): (Log, VolumeTree),
        scan: TreeScanner,
        volume: String,
    ) -> CommitUploader {
        let (session, fresh) = (log.next_segment(), AtomicU64::default());
        let (moves, again) = (ObjectRenames::from_tree(&tree, session), DirtyNames::new());
        let (pending, short) = (None, LogCompaction::default());
        let fetch = ContentFetcher::new(Arc::clone(&bucket));
        let unread = UnreadableFiles::default();
        CommitUploader {
            unread,
            fetch,
            bucket,
            log,
            tree,
            scan,
            volume,
            pending,
            moves,
            readers: Arc::new(NoObserver),
            again,
            short,
            session,
            fresh,
        }
    }

    /// Makes a cut of what changed among these names; `None`: of everything. Nobody may change a
    /// name meanwhile; it takes as long as reading the small files. `is_busy` tells that a file is
    /// open for writing.
    ///
    /// # Errors
    /// Those of the file system: what was found before is shipped, and the names are dirty still.
    pub(crate) fn make_commit(
        &mut self,
        dirty: Option<&DirtyNames>,
        is_busy: &dyn Fn(&FileIdentity) -> bool,
    ) -> Result<(), Errno> {
        debug_assert!(self.pending.is_none(), "the cut before is shipped first");
        let mut found = ScanResult::default();
        let CommitUploader { scan, tree, .. } = self;
        let done = match dirty {
            None => scan.scan_tree((tree, &mut found), is_busy),
            Some(dirty) => dirty.iter().try_for_each(|(path, name)| {
                scan.scan_entry((&mut *tree, &mut found), path, name, is_busy)
            }),
        };
        self.unread.note_found(dirty, std::mem::take(&mut found.unread));
        self.moves.note_loose_files(&self.tree);
        if !found.draft.is_empty() || !found.large.is_empty() {
            self.pending = Some(Pending::Cut(Box::new(found)));
        }
        done
    }

    /// Brings the pending cut into the bucket. After a failure it may be called again, and goes on
    /// where it was.
    ///
    /// # Errors
    /// Those of the bucket. `AlreadyExists`: another machine writes the volume now, and nothing
    /// from here comes into it any more.
    pub(crate) fn upload_commit(
        &mut self,
        open: FileOpener<'_>,
    ) -> Result<Option<UploadedCommit>, RequestError> {
        let segment = match self.pending.take() {
            None => return Ok(None),
            Some(Pending::Segment(segment)) => segment,
            Some(Pending::Cut(mut found)) => match self.prepare_segment(&mut found, open) {
                Ok(objects) => {
                    found.draft.append_record(&TreeRecord::Cut);
                    let bytes = Bytes::from(found.draft.encode_segment(self.log.next_segment()));
                    Segment { bytes, packed: found.packed, laid: found.laid, objects }
                }
                Err(failed) => {
                    self.pending = Some(Pending::Cut(found));
                    return Err(failed);
                }
            },
        };
        let number = self.log.next_segment();
        if let Err(failed) = self.log.write_segment(segment.bytes.clone()) {
            self.pending = Some(Pending::Segment(segment));
            return Err(failed);
        }
        self.tree.assign_segment(number, &segment.packed);
        self.tree.apply_record(&TreeRecord::Cut);
        self.readers.notify_moved(current_places(&self.tree, &segment.laid));
        self.delete_unused_objects();
        Ok(Some(UploadedCommit { bytes: segment.bytes.len() as u64, objects: segment.objects }))
    }
}

#[cfg(test)]
pub(in crate::bucket) mod tests;
