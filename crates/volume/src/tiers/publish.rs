//! Publishing: when a run has succeeded, files whose rule says so are copied as plain files to a
//! tier's own directory, under the paths that they have in the covered one. What is there already,
//! by size and time of modification, is left alone, so that a second run copies what has changed.
//! It removes nothing, here or there.

mod bucket;
mod files;
mod folders;
mod many;
mod owners;
pub(super) mod patience;
mod walk;

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use bucket::Bucket;
use forebay_model::{Placement, Tier, TierId};
use rustix::fs::{Access, CWD, Mode, OFlags, access, openat};
use rustix::io::Errno;

use super::home::{Left, Progress};
use super::opening::directory as tier_directory;
use super::{Tiers, Trouble, Wanted};
use crate::native::{Identity, device_of, stat_of};
use crate::store::Settings;
pub(super) use files::Source;
use folders::Folder;

/// Where files of a directory are published.
#[derive(Debug)]
pub(super) struct PublishDir {
    tier: TierId,
    to: Shelf,
}

/// What files are published to.
#[derive(Debug)]
enum Shelf {
    Directory {
        path: PathBuf,
        /// Which directory it was at the start: a file system that is gone at the end leaves
        /// another.
        identity: Identity,
    },
    Bucket {
        url: String,
        settings: Settings,
    },
}

/// The directories and buckets to which the rules publish files of `directory`.
///
/// # Errors
/// One is missing or can't be written, or one of the two lies below the other: files would be
/// published into the covered directory, over others.
pub(super) fn open(directory: &Path, wanted: &Wanted) -> Result<Vec<PublishDir>, Trouble> {
    let tiers = wanted.rules.publishes().into_iter().filter_map(|id| wanted.site.tier(id));
    let open = |tier: &Tier| {
        if let Some(url) = &tier.bucket {
            let refuse = Trouble::at(Path::new(url), "publishing to");
            bucket::check(url, wanted.settings.clone())
                .map_err(|failed| refuse(std::io::Error::new(failed.kind, failed)))?;
            let to = Shelf::Bucket { url: url.clone(), settings: wanted.settings.clone() };
            return Ok(PublishDir { tier: tier.id.clone(), to });
        }
        let path = tier_directory(tier)?;
        let path = path.canonicalize().map_err(Trouble::at(path, "publishing to"))?;
        let refuse = |why| Trouble::at(&path, "publishing to")(std::io::Error::other(why));
        if path.starts_with(directory) {
            return Err(refuse("it lies below the covered directory"));
        }
        if directory.starts_with(&path) {
            return Err(refuse("the covered directory lies below it"));
        }
        access(&path, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| Trouble::at(&path, "publishing to")(error.into()))?;
        let at = Trouble::at(&path, "publishing to");
        let identity = reach(&path).map_err(|error| at(error.into()))?.1;
        Ok(PublishDir { tier: tier.id.clone(), to: Shelf::Directory { path, identity } })
    };
    tiers.map(open).collect()
}

fn reach(path: &Path) -> Result<(OwnedFd, Identity), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, path, flags, Mode::empty())?;
    let identity = Identity::of(&stat_of(fd.as_fd(), c"")?);
    Ok((fd, identity))
}

/// What came of publishing.
#[derive(Debug, Default)]
pub(super) struct Published {
    /// Files that were copied, and their bytes.
    pub(super) done: (u64, u64),
    /// Files that could not be.
    pub(super) failed: Vec<Left>,
}

/// Publishes the files of one covered directory.
pub(super) struct Publisher<'t> {
    tiers: &'t Tiers,
    /// The covered directory, bare.
    root: &'t OwnedFd,
    /// Its path.
    directory: &'t Path,
    /// The directories that files go to; those of buckets are none.
    bases: Vec<Result<OwnedFd, Errno>>,
    /// The buckets that they go to, where it is one.
    buckets: Vec<Option<Bucket>>,
    /// In the names of files on their way, so that two directories that publish to one tier do not
    /// meet.
    mark: String,
    progress: &'t Progress<'t>,
    /// Where the last file went.
    folder: Option<Folder>,
    /// Where one was looked for last: which directory, and what came of opening it.
    looked: Option<(usize, PathBuf, Result<OwnedFd, Errno>)>,
    /// Whether root is root on each tier, as far as it had to be tried.
    mighty: Vec<Option<bool>>,
    /// Why the file is not published that is just being so, if it is not for the tier to say.
    refusal: Option<String>,
    /// Directories that get their modes when all is done.
    made: Vec<(usize, PathBuf, Mode)>,
    done: Published,
}

impl<'t> Publisher<'t> {
    /// `None` when no rule publishes.
    pub(super) fn of(
        tiers: &'t Tiers,
        (root, directory): (&'t OwnedFd, &'t Path),
        progress: &'t Progress<'t>,
    ) -> Option<Publisher<'t>> {
        if tiers.publish_dirs.is_empty() {
            return None;
        }
        let stat = stat_of(root.as_fd(), c"").ok();
        let mark = stat
            .map_or_else(String::new, |stat| format!("{:x}.{:x}", device_of(&stat), stat.stx_ino));
        let base = |dir: &PublishDir| match &dir.to {
            Shelf::Directory { path, identity } => match reach(path)? {
                (fd, now) if now == *identity => Ok(fd),
                _ => Err(Errno::STALE),
            },
            Shelf::Bucket { .. } => Err(Errno::NOTDIR),
        };
        let bucket = |dir: &PublishDir| match &dir.to {
            Shelf::Directory { .. } => None,
            Shelf::Bucket { url, settings } => Some(Bucket::of(url, settings)),
        };
        Some(Publisher {
            tiers,
            root,
            directory,
            bases: tiers.publish_dirs.iter().map(base).collect(),
            buckets: tiers.publish_dirs.iter().map(bucket).collect(),
            mark,
            progress,
            folder: None,
            looked: None,
            mighty: vec![None; tiers.publish_dirs.len()],
            refusal: None,
            made: Vec::new(),
            done: Published::default(),
        })
    }

    /// The number of the directory to which a file of this path goes.
    pub(super) fn wanted(&self, path: &Path) -> Option<usize> {
        self.tiers.published_to(path)
    }

    /// Takes in what came of one file; true if it is published.
    pub(super) fn came(&mut self, path: &Path, to: usize, done: Result<u64, Errno>) -> bool {
        match done {
            Ok(bytes) => {
                self.done.done.0 += 1;
                self.done.done.1 += bytes;
                true
            }
            Err(error) => {
                let tier = &self.tiers.publish_dirs[to].tier;
                let why = match self.refusal.take() {
                    Some(refusal) => format!("to tier {tier}: {refusal}"),
                    None => format!("to tier {tier}: {error}"),
                };
                self.done.failed.push(Left { path: path.to_owned(), why });
                false
            }
        }
    }

    /// All is done: gives directories their modes, and tells what was published.
    pub(super) fn close(mut self) -> Published {
        let _ = self.leave_folder();
        self.give_modes();
        self.done
    }

    fn base(&self, to: usize) -> Result<&OwnedFd, Errno> {
        self.bases[to].as_ref().map_err(|error| *error)
    }
}

impl Tiers {
    /// Some rule publishes.
    pub(crate) fn publishes(&self) -> bool {
        !self.publish_dirs.is_empty()
    }

    pub(super) fn published_to(&self, path: &Path) -> Option<usize> {
        use std::os::unix::ffi::OsStrExt;
        let Placement { publish, .. } = self.rule(path.as_os_str().as_bytes())?;
        let tier = publish.as_ref()?;
        self.publish_dirs.iter().position(|dir| dir.tier == *tier)
    }
}
