//! Files published to a bucket: each an object of its own under its own path, written whole or not
//! at all, as any client of S3 finds it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use rustix::fs::{Mode, OFlags, openat};

use super::source_file::PublishSource;
use crate::tiers::copy;
use forebay_objstore::{BucketClient, BucketSettings, PutCondition, RequestError, key_for_path};
use forebay_objstore::{RetryWindow, retry_patiently};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::Time;

/// Made and removed again before the command starts, since S3 has no other way to ask whether one
/// may write.
const ATTEMPT: &str = ".forebay-attempt";

/// Looks whether a bucket is there, may be listed, as it is at the end of the run, and written to.
///
/// # Errors
/// It may not, or is not.
pub(super) fn check_bucket_access(url: &str, settings: BucketSettings) -> Result<(), RequestError> {
    // Its threads end with it: this process is about to fork.
    let objects = BucketClient::open(url, settings)?;
    objects.list_recursive(ATTEMPT)?;
    objects.put(ATTEMPT, Bytes::new())?;
    objects.delete(ATTEMPT)
}

/// A bucket, and what it had when the first file was published.
#[derive(Debug)]
pub(super) struct PublishBucket {
    url: String,
    settings: BucketSettings,
    shelf: OnceLock<Result<BucketContents, String>>,
}

#[derive(Debug)]
pub(super) struct BucketContents {
    objects: BucketClient,
    sizes: BTreeMap<String, u64>,
}

impl PublishBucket {
    pub(super) fn for_url(url: &str, settings: &BucketSettings) -> PublishBucket {
        PublishBucket { url: url.to_owned(), settings: settings.clone(), shelf: OnceLock::new() }
    }

    pub(super) fn listed_objects(&self) -> Result<&BucketContents, String> {
        let open = || {
            let objects = BucketClient::open(&self.url, self.settings.clone())?;
            let listed = retry_patiently(&AtomicBool::new(false), &RetryWindow::default(), || {
                objects.list_recursive("")
            })?;
            let sizes = listed.into_iter().map(|found| (found.name, found.size)).collect();
            Ok(BucketContents { sizes, objects })
        };
        let opened = self.shelf.get_or_init(|| open().map_err(|failed: RequestError| failed.why));
        opened.as_ref().map_err(Clone::clone)
    }

    /// Whether it has this file already, as far as size and time tell.
    pub(super) fn has_same_file(&self, path: &Path, size: u64, mtime: Time) -> bool {
        let asked = || {
            let (shelf, key) = (self.listed_objects().ok()?, object_key(path).ok()?);
            if shelf.sizes.get(&key) != Some(&size) {
                return None;
            }
            shelf.objects.head(&key).ok()??.tag
        };
        asked().is_some_and(|tag| tag == mtime_tag(mtime))
    }

    /// Whether it could have it, which costs no request.
    pub(super) fn has_same_size(&self, path: &Path, size: u64) -> bool {
        let sizes = self.listed_objects().ok().zip(object_key(path).ok());
        sizes.is_some_and(|(shelf, key)| shelf.sizes.get(&key) == Some(&size))
    }

    /// Publishes a plain file; tells how many bytes it has.
    pub(super) fn publish_file(
        &self,
        path: &Path,
        from: &PublishSource<'_>,
    ) -> Result<u64, RequestError> {
        let (shelf, key) = (self.listed_objects().map_err(lasting_failure)?, object_key(path)?);
        match from {
            PublishSource::Here(dir, name) => {
                let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                shelf.upload_file(
                    &key,
                    openat(dir, *name, how, Mode::empty()).map_err(lasting_failure)?,
                )
            }
            PublishSource::Body(tiers, placed) => shelf
                .upload_file(&key, copy::open_readable(tiers, placed).map_err(lasting_failure)?.0),
            PublishSource::Packed(pack, ino) => match pack
                .open_working_file(*ino)
                .map_err(lasting_failure)?
            {
                Some(work) => shelf.upload_file(&key, work.file),
                None => {
                    let (attr, _) = pack.attributes_and_links(*ino).map_err(lasting_failure)?;
                    let bytes = pack.read_content(*ino).map_err(lasting_failure)?;
                    shelf.upload_stream(&key, (attr.size, attr.mtime), &mut io::Cursor::new(bytes))
                }
            },
        }
    }
}

impl BucketContents {
    pub(super) fn upload_file(&self, key: &str, file: OwnedFd) -> Result<u64, RequestError> {
        // Before the first byte is read: if it is written meanwhile, the next run finds that it
        // has changed.
        let stat = statx_nofollow(file.as_fd(), c"").map_err(lasting_failure)?;
        let state = (stat.stx_size, Time::from_timestamp(&stat.stx_mtime));
        self.upload_stream(key, state, &mut std::fs::File::from(file))
    }

    fn upload_stream(
        &self,
        key: &str,
        (size, mtime): (u64, Time),
        from: &mut dyn io::Read,
    ) -> Result<u64, RequestError> {
        let mut next = |buffer: &mut [u8]| from.read(buffer);
        self.objects
            .upload(key, &mtime_tag(mtime), size, PutCondition::Always, &mut next)
            .map(|_| size)
    }
}

/// What goes wrong on this side; the bucket need not be asked again.
pub(super) fn lasting_failure(why: impl ToString) -> RequestError {
    RequestError { kind: io::ErrorKind::InvalidInput, why: why.to_string() }
}

/// The name of a file's object.
pub(super) fn object_key(path: &Path) -> Result<String, RequestError> {
    let bytes = path.as_os_str().as_bytes();
    key_for_path(bytes).ok_or_else(|| lasting_failure("no object can have so long a name"))
}

/// What an object is tagged with: the file's time of modification.
fn mtime_tag(mtime: Time) -> String {
    let Time { sec, nsec } = mtime;
    format!("mtime {sec}.{nsec:09}")
}
