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

use super::source::Source;
use crate::tiers::copy;
use forebay_objstore::{Failed, Objects, Settings, When, key_of};
use forebay_objstore::{Patience, patiently};
use forebay_os::files::stat_of;
use forebay_packlog::Time;

/// Made and removed again before the command starts, since S3 has no other way to ask whether one
/// may write.
const ATTEMPT: &str = ".forebay-attempt";

/// Looks whether a bucket is there, may be listed, as it is at the end of the run, and written to.
///
/// # Errors
/// It may not, or is not.
pub(super) fn check(url: &str, settings: Settings) -> Result<(), Failed> {
    // Its threads end with it: this process is about to fork.
    let objects = Objects::open(url, settings)?;
    objects.list(ATTEMPT)?;
    objects.put(ATTEMPT, Bytes::new())?;
    objects.delete(ATTEMPT)
}

/// A bucket, and what it had when the first file was published.
#[derive(Debug)]
pub(super) struct Bucket {
    url: String,
    settings: Settings,
    shelf: OnceLock<Result<Shelf, String>>,
}

#[derive(Debug)]
pub(super) struct Shelf {
    objects: Objects,
    sizes: BTreeMap<String, u64>,
}

impl Bucket {
    pub(super) fn of(url: &str, settings: &Settings) -> Bucket {
        Bucket { url: url.to_owned(), settings: settings.clone(), shelf: OnceLock::new() }
    }

    pub(super) fn shelf(&self) -> Result<&Shelf, String> {
        let open = || {
            let objects = Objects::open(&self.url, self.settings.clone())?;
            let listed =
                patiently(&AtomicBool::new(false), &Patience::default(), || objects.list(""))?;
            let sizes = listed.into_iter().map(|found| (found.name, found.size)).collect();
            Ok(Shelf { sizes, objects })
        };
        let opened = self.shelf.get_or_init(|| open().map_err(|failed: Failed| failed.why));
        opened.as_ref().map_err(Clone::clone)
    }

    /// Whether it has this file already, as far as size and time tell.
    pub(super) fn has(&self, path: &Path, size: u64, mtime: Time) -> bool {
        let asked = || {
            let (shelf, key) = (self.shelf().ok()?, key(path).ok()?);
            if shelf.sizes.get(&key) != Some(&size) {
                return None;
            }
            shelf.objects.head(&key).ok()??.tag
        };
        asked().is_some_and(|tag| tag == tag_of(mtime))
    }

    /// Whether it could have it, which costs no request.
    pub(super) fn may_have(&self, path: &Path, size: u64) -> bool {
        let sizes = self.shelf().ok().zip(key(path).ok());
        sizes.is_some_and(|(shelf, key)| shelf.sizes.get(&key) == Some(&size))
    }

    /// Publishes a plain file; tells how many bytes it has.
    pub(super) fn file(&self, path: &Path, from: &Source<'_>) -> Result<u64, Failed> {
        let (shelf, key) = (self.shelf().map_err(lasting)?, key(path)?);
        match from {
            Source::Here(dir, name) => {
                let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
                shelf.plain(&key, openat(dir, *name, how, Mode::empty()).map_err(lasting)?)
            }
            Source::Body(tiers, placed) => {
                shelf.plain(&key, copy::readable(tiers, placed).map_err(lasting)?.0)
            }
            Source::Packed(pack, ino) => match pack.apart(*ino).map_err(lasting)? {
                Some(work) => shelf.plain(&key, work.file),
                None => {
                    let (attr, _) = pack.attr(*ino).map_err(lasting)?;
                    let bytes = pack.content(*ino).map_err(lasting)?;
                    shelf.upload(&key, (attr.size, attr.mtime), &mut io::Cursor::new(bytes))
                }
            },
        }
    }
}

impl Shelf {
    pub(super) fn plain(&self, key: &str, file: OwnedFd) -> Result<u64, Failed> {
        // Before the first byte is read: if it is written meanwhile, the next run finds that it
        // has changed.
        let stat = stat_of(file.as_fd(), c"").map_err(lasting)?;
        let state = (stat.stx_size, Time::of(&stat.stx_mtime));
        self.upload(key, state, &mut std::fs::File::from(file))
    }

    fn upload(
        &self,
        key: &str,
        (size, mtime): (u64, Time),
        from: &mut dyn io::Read,
    ) -> Result<u64, Failed> {
        let mut next = |buffer: &mut [u8]| from.read(buffer);
        self.objects.upload(key, &tag_of(mtime), size, When::Always, &mut next).map(|_| size)
    }
}

/// What goes wrong on this side; the bucket need not be asked again.
pub(super) fn lasting(why: impl ToString) -> Failed {
    Failed { kind: io::ErrorKind::InvalidInput, why: why.to_string() }
}

/// The name of a file's object.
pub(super) fn key(path: &Path) -> Result<String, Failed> {
    let bytes = path.as_os_str().as_bytes();
    key_of(bytes).ok_or_else(|| lasting("no object can have so long a name"))
}

/// What an object is tagged with: the file's time of modification.
fn tag_of(mtime: Time) -> String {
    let Time { sec, nsec } = mtime;
    format!("mtime {sec}.{nsec:09}")
}
