//! The seam between the verbs of POSIX on a directory (`native`) and a feature that has names or
//! bytes which that directory alone does not have: a volume in a bucket, somebody's prefix of one,
//! an archive of reads. Such a feature is a [`Backend`], and gives a [`ContentSource`] for each of
//! its open files. Whatever it does not say is as it is in place, so a new one says only what it
//! does.
//!
//! Rejected: an `Option` of each feature in `Native`, which then knows all of them by name; and a
//! file system that wraps another one, where each verb passes through every layer although a feature
//! has something to say of a few.

mod change_gate;

use std::ffi::CString;
use std::fmt::Debug;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use parking_lot::RwLockReadGuard;
use rustix::fs::Statx;
use rustix::io::Errno;

use crate::ipc::{BucketStatus, BucketWaiting, UploadReport, WriteBackProgress};
pub(crate) use change_gate::{ChangeGate, ChangeGuard};
use forebay_os::file_identity::FileIdentity;
use forebay_os::short_name::ShortName;

/// What a backend can fail with.
pub(crate) type Result<T> = std::result::Result<T, Errno>;

/// A path in the tree and an open directory there.
pub(crate) type FolderOpener<'a> = &'a dyn Fn() -> Result<(Vec<u8>, OwnedFd)>;

/// What keeps a tree beyond its directory. Threads that call it for a program act as the daemon
/// itself where it opens, brings or lists something.
pub(crate) trait Backend: Debug + Send + Sync {
    /// The directory has all there is: the kernel may open files by their paths.
    fn is_in_place(&self) -> bool {
        false
    }

    /// How many threads serve the tree, where `usual` serve a directory of this machine; and how
    /// many at most, when all of these wait.
    fn thread_counts(&self, usual: usize) -> (usize, usize) {
        (usual, usual)
    }

    // Names.

    /// Whether the names in a directory, by its inode number, are all there.
    fn is_listed(&self, _folder: u64) -> bool {
        true
    }

    /// Lists a directory that was not.
    ///
    /// # Errors
    /// EIO: it can't be listed.
    fn list_directory(&self, _folder: u64, _open: FolderOpener<'_>) -> Result<()> {
        Ok(())
    }

    /// Held by whoever changes a name, for a backend that takes the tree as it is at one moment.
    fn gate(&self) -> Option<&ChangeGate> {
        None
    }

    /// This name in the folder at that path may lead elsewhere now.
    fn note_name_change(&self, _folder: Vec<u8>, _name: CString) {}

    // Bytes and attributes.

    /// Where the bytes of a file that was opened come from, if its descriptor has not all of them.
    /// Those of a small one may come now.
    ///
    /// # Errors
    /// EIO: they can't be had. ESTALE: the file is another one by now.
    fn open_source(
        self: Arc<Self>,
        _file: &FileIdentity,
        _descriptor: BorrowedFd<'_>,
    ) -> Result<Option<Arc<dyn ContentSource>>> {
        Ok(None)
    }

    /// Held while a file is opened, so that its bytes stay meanwhile.
    fn pin_bytes_for_open(&self) -> Option<RwLockReadGuard<'_, ()>> {
        None
    }

    /// The bytes of a file have to come before it is changed by its name.
    fn is_evicted(&self, _file: &FileIdentity) -> bool {
        false
    }

    /// The bytes of a file may be others now.
    fn note_bytes_change(&self, _file: FileIdentity) {}

    /// Gives attributes that were read from the directory the length that is shown.
    fn apply_length(&self, _stat: &mut Statx) {}

    /// Gives them the time of modification that is shown; `again` reads them once more.
    fn apply_times(
        &self,
        _file: &FileIdentity,
        _stat: &mut Statx,
        _again: &dyn Fn() -> Result<Statx>,
    ) {
    }

    /// Whether an extended attribute is the backend's own, of which programs see nothing.
    fn hides_attribute(&self, _name: &[u8]) -> bool {
        false
    }

    // Room and durability.

    /// Somebody begins to write a file: waits where there has to be room first.
    fn wait_for_room(&self) {}

    /// The disk is full: true once others' bytes have given room, and it is worth trying again.
    fn try_free_space(&self) -> bool {
        false
    }

    /// A file is about to be made durable on this machine's disk.
    fn before_local_sync(&self, _descriptor: BorrowedFd<'_>) {}

    /// Begins to make a file, or the names in a directory, durable elsewhere, if that is wanted.
    fn begin_sync(&self, _path: &[u8], _file: FileIdentity) -> Option<SyncTicket> {
        None
    }

    /// Waits until that is done.
    ///
    /// # Errors
    /// EIO: it can't be.
    fn finish_sync(&self, _ticket: SyncTicket) -> Result<()> {
        Ok(())
    }

    // Its life.

    /// Why it can't do its work just now, where [`Backend::bucket_status`] does not say it.
    fn current_error(&self) -> Option<String> {
        None
    }

    /// How the copy in a bucket is just now, if it writes one.
    fn bucket_status(&self) -> Option<BucketStatus> {
        None
    }

    /// Nobody uses the tree any more: waits until all of it is where it is kept. Tells how far it is
    /// now and then, and what is in the way. `None`: it keeps nothing elsewhere.
    fn finish_upload(
        &self,
        _tell: &dyn Fn(&WriteBackProgress),
        _waits: &dyn Fn(&BucketWaiting),
    ) -> Option<UploadReport> {
        None
    }

    /// What went wrong so far, in sentences, while the tree is still used.
    fn warnings_so_far(&self) -> Vec<String> {
        Vec::new()
    }

    /// The tree is shown no longer. Gives what went wrong, in sentences.
    fn finish_serving(&self) -> Vec<String> {
        Vec::new()
    }

    /// Everybody has heard of the end: what was kept here only for the mount goes.
    fn drop_local_state(&self) {}
}

/// The directory itself is all there is.
#[derive(Debug)]
pub(crate) struct InPlace;

impl Backend for InPlace {
    fn is_in_place(&self) -> bool {
        true
    }
}

/// The bytes of an open file that its descriptor does not have, or not yet.
pub(crate) trait ContentSource: Debug + Send + Sync {
    /// The descriptor has all bytes by now.
    fn is_complete(&self) -> bool;

    /// The length in bytes, if no descriptor will ever have any of them: such a file is read by
    /// [`ContentSource::read`] alone, and nobody writes it.
    fn own_length(&self) -> Option<u64> {
        None
    }

    /// Reads into `buffer` at `offset`; gives how many bytes there were.
    ///
    /// # Errors
    /// EIO: they can't be had. ESTALE: they are others by now. EOPNOTSUPP: the descriptor has them.
    fn read(&self, _offset: u64, _buffer: &mut [u8]) -> Result<usize> {
        Err(Errno::OPNOTSUPP)
    }

    /// Brings `length` bytes at `offset` into the file.
    ///
    /// # Errors
    /// EIO: they can't be had. ENOSPC. EXDEV: no descriptor will ever have them.
    fn fetch_range(&self, offset: u64, length: u64) -> Result<()>;

    /// Brings all that is missing.
    ///
    /// # Errors
    /// As [`ContentSource::fetch_range`].
    fn fetch_all(&self) -> Result<()>;

    /// Somebody changes the file: its times are those of the local file from now on.
    fn note_changed(&self) {}

    /// `empty` empties the file, and no bytes need come for that. If it fails, nothing is changed.
    ///
    /// # Errors
    /// What `empty` says.
    fn empty_without_fetch(&self, empty: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        empty()
    }

    /// The file loses a name while it is open: where it is kept, its bytes may go soon.
    fn note_name_lost(&self) {}

    /// The last open of the file is over.
    fn close(&self) {}
}

/// Something that somebody wants to be durable elsewhere.
#[derive(Debug)]
#[must_use]
pub(crate) struct SyncTicket {
    /// How often anybody has asked until then.
    pub(crate) number: u64,
    pub(crate) file: FileIdentity,
}

/// Whoever serves a tree to programs, as far as its backend needs to know.
pub(crate) trait TreeServer: Debug + Send + Sync {
    /// Whether a file is open to be written.
    fn is_open_for_writing(&self, file: &FileIdentity) -> bool;

    /// Whether anybody has a file open.
    fn is_open(&self, file: &FileIdentity) -> bool;

    /// Files that were open to be written when the mount went.
    fn files_open_for_writing(&self) -> Vec<FileIdentity>;

    /// Names in folders that lead elsewhere, and files whose attributes are others: the kernel asks
    /// for them again.
    fn invalidate_in_kernel(&self, names: &[(FileIdentity, ShortName)], files: &[FileIdentity]);
}
