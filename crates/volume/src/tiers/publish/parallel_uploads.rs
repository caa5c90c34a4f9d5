//! Many files published to buckets at the same time, and what symbolic links stand for there.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::Publisher;
use super::bucket_uploads::{PublishBucket, lasting_failure, object_key};
use super::source_file::PublishSource;
use super::walk::{PublishCandidate, PublishKind};
use crate::tiers::Tiers;
use crate::tiers::beneath::open_parent;
use forebay_objstore::RequestError;
use forebay_objstore::{RetryWindow, retry_patiently};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::Time;

/// Files on their way at the same time: a request takes as long for a small file as for none.
const AT_ONCE: usize = 16;
/// A bucket keeps no links, so what one leads to is published in its place.
const ELSEWHERE: &str = "it is a link that leads out of the directory, or to a file on a tier";
const NO_FILE: &str = "it is a link, and what it leads to is no file";
const NOT_THEIRS: &str = "it is a link to another user's file";

/// What came of one file: its bytes, or `None` if it was there already.
type Done = Result<Option<u64>, RequestError>;

impl Publisher<'_> {
    /// Takes in what came of a file that went to a bucket.
    pub(super) fn record_upload_error(
        &mut self,
        done: Result<u64, RequestError>,
    ) -> Result<u64, Errno> {
        done.map_err(|failed| {
            self.refusal = Some(failed.why);
            Errno::IO
        })
    }

    /// Publishes files to buckets, many at once.
    pub(super) fn upload_all(
        &mut self,
        wanted: &[PublishCandidate],
        mut came: impl FnMut(&mut Self, &PublishCandidate),
    ) {
        let (next, (say, heard)) =
            (AtomicUsize::new(0), std::sync::mpsc::channel::<(usize, Done)>());
        let (tiers, here) = (self.tiers, (self.root, self.directory));
        let gone = AtomicBool::new(false);
        let buckets = std::mem::take(&mut self.buckets);
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(wanted.len()) {
                let (say, next, gone, buckets) = (say.clone(), &next, &gone, &buckets);
                scope.spawn(move || {
                    while let Some((number, one)) = next_wanted(next, wanted) {
                        let done = match &buckets[one.to] {
                            Some(bucket) => retry_patiently(gone, &RetryWindow::default(), || {
                                upload_one(bucket, tiers, here, one)
                            }),
                            None => Err(lasting_failure("it is no bucket")),
                        };
                        let _ = say.send((number, done));
                    }
                });
            }
            drop(say);
            for (number, done) in heard {
                let one = &wanted[number];
                match done {
                    Ok(None) => {}
                    Ok(Some(bytes)) => drop(self.record_result(&one.path, one.to, Ok(bytes))),
                    Err(why) => {
                        let done = self.record_upload_error(Err(why));
                        self.record_result(&one.path, one.to, done);
                    }
                }
                came(self, one);
            }
        });
        self.buckets = buckets;
    }
}

fn next_wanted<'w>(
    next: &AtomicUsize,
    wanted: &'w [PublishCandidate],
) -> Option<(usize, &'w PublishCandidate)> {
    let number = next.fetch_add(1, Relaxed);
    Some((number, wanted.get(number)?))
}

fn upload_one(
    bucket: &PublishBucket,
    tiers: &Tiers,
    here: (&OwnedFd, &Path),
    one: &PublishCandidate,
) -> Done {
    let is_there = |size, mtime| {
        bucket.has_same_size(&one.path, size) && bucket.has_same_file(&one.path, size, mtime)
    };
    let done = match &one.what {
        PublishKind::Link(target, (uid, _)) => {
            let file = open_link_target(here, &one.path, target, *uid).map_err(lasting_failure)?;
            let stat = statx_nofollow(file.as_fd(), c"").map_err(lasting_failure)?;
            if is_there(stat.stx_size, Time::from_timestamp(&stat.stx_mtime)) {
                return Ok(None);
            }
            bucket
                .listed_objects()
                .map_err(lasting_failure)?
                .upload_file(&object_key(&one.path)?, file)
        }
        _ if is_there(one.bytes, one.mtime) => return Ok(None),
        PublishKind::Plain => {
            let (dir, name) = open_parent(here.0, &one.path).map_err(lasting_failure)?;
            bucket.publish_file(&one.path, &PublishSource::Here(dir.as_fd(), &name))
        }
        PublishKind::Body(placed) => {
            bucket.publish_file(&one.path, &PublishSource::Body(tiers, placed))
        }
    };
    done.map(Some)
}

/// The file that somebody's link leads to, below the covered directory and nowhere else: root's
/// daemon may read what whoever made the link may not.
fn open_link_target(
    (root, directory): (&OwnedFd, &Path),
    path: &Path,
    target: &CStr,
    uid: u32,
) -> Result<OwnedFd, String> {
    let target = Path::new(OsStr::from_bytes(target.to_bytes()));
    let from = match target.is_absolute() {
        false => path,
        true => target.strip_prefix(directory).map_err(|_| ELSEWHERE.to_owned())?,
    };
    let how = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat2(root, from, how, Mode::empty(), ResolveFlags::BENEATH);
    let file = file.map_err(|error| match error {
        Errno::XDEV => ELSEWHERE.to_owned(),
        Errno::NOENT | Errno::LOOP => NO_FILE.to_owned(),
        error => error.to_string(),
    })?;
    let stat = statx_nofollow(file.as_fd(), c"").map_err(|error| error.to_string())?;
    match (u32::from(stat.stx_mode) & libc::S_IFMT, stat.stx_uid == uid) {
        (libc::S_IFREG, true) => Ok(file),
        (libc::S_IFREG, false) => Err(NOT_THEIRS.to_owned()),
        _ => Err(NO_FILE.to_owned()),
    }
}
