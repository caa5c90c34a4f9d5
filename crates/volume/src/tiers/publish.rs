//! Publishing: when a run has succeeded, files whose rule says so are copied as plain files to a
//! tier's own directory, under the paths that they have in the covered one. What is there already,
//! by size and time of modification, is left alone, so that a second run copies what has changed.
//! It removes nothing, here or there.

mod bucket_uploads;
mod destination;
mod owners;
mod parallel_uploads;
mod published_directories;
mod published_files;
mod source_file;
mod walk;

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use bucket_uploads::PublishBucket;
use forebay_model::Placement;
use rustix::fs::Mode;
use rustix::io::Errno;

use super::{LeftBehindFile, ProgressReporter, Tiers};
pub(super) use destination::{PublishDestination, open_publish_targets};
use destination::{PublishTarget, open_with_identity};
use forebay_os::file_identity::{device_number, statx_nofollow};
use published_directories::PublishedDirectory;
pub(super) use source_file::PublishSource;

/// What came of publishing.
#[derive(Debug, Default)]
pub(super) struct Published {
    /// Files that were copied, and their bytes.
    pub(super) done: (u64, u64),
    /// Files that could not be.
    pub(super) failed: Vec<LeftBehindFile>,
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
    buckets: Vec<Option<PublishBucket>>,
    /// In the names of files on their way, so that two directories that publish to one tier do not
    /// meet.
    mark: String,
    progress: &'t ProgressReporter<'t>,
    /// Where the last file went.
    folder: Option<PublishedDirectory>,
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
    pub(super) fn for_tiers(
        tiers: &'t Tiers,
        (root, directory): (&'t OwnedFd, &'t Path),
        progress: &'t ProgressReporter<'t>,
    ) -> Option<Publisher<'t>> {
        if tiers.publish_dirs.is_empty() {
            return None;
        }
        let stat = statx_nofollow(root.as_fd(), c"").ok();
        let mark = stat.map_or_else(String::new, |stat| {
            format!("{:x}.{:x}", device_number(&stat), stat.stx_ino)
        });
        let base = |dir: &PublishDestination| match &dir.to {
            PublishTarget::Directory { path, identity } => match open_with_identity(path)? {
                (fd, now) if now == *identity => Ok(fd),
                _ => Err(Errno::STALE),
            },
            PublishTarget::Bucket { .. } => Err(Errno::NOTDIR),
        };
        let bucket = |dir: &PublishDestination| match &dir.to {
            PublishTarget::Directory { .. } => None,
            PublishTarget::Bucket { url, settings } => Some(PublishBucket::for_url(url, settings)),
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
    pub(super) fn publish_target(&self, path: &Path) -> Option<usize> {
        self.tiers.publish_target(path)
    }

    /// Takes in what came of one file; true if it is published.
    pub(super) fn record_result(
        &mut self,
        path: &Path,
        to: usize,
        done: Result<u64, Errno>,
    ) -> bool {
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
                self.done.failed.push(LeftBehindFile { path: path.to_owned(), why });
                false
            }
        }
    }

    /// All is done: gives directories their modes, and tells what was published.
    pub(super) fn finish_publishing(mut self) -> Published {
        self.close_folder();
        self.apply_final_modes();
        self.done
    }

    fn base_directory(&self, to: usize) -> Result<&OwnedFd, Errno> {
        self.bases[to].as_ref().map_err(|error| *error)
    }
}

impl Tiers {
    /// Some rule publishes.
    pub(crate) fn has_publish_rules(&self) -> bool {
        !self.publish_dirs.is_empty()
    }

    pub(super) fn publish_target(&self, path: &Path) -> Option<usize> {
        use std::os::unix::ffi::OsStrExt;
        let Placement { publish, .. } = self.rule_for_path(path.as_os_str().as_bytes())?;
        let tier = publish.as_ref()?;
        self.publish_dirs.iter().position(|dir| dir.tier == *tier)
    }
}
