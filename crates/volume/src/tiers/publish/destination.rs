//! The directories and buckets that files are published to, looked at before the command starts.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use forebay_model::{Tier, TierId};
use rustix::fs::{Access, CWD, Mode, OFlags, access, openat};
use rustix::io::Errno;

use crate::tiers::requested_tiers::tier_path;
use crate::tiers::{PlacementOptions, TierError};
use forebay_objstore::BucketSettings;
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// Where files of a directory are published.
#[derive(Debug)]
pub(in crate::tiers) struct PublishDestination {
    pub(super) tier: TierId,
    pub(super) to: PublishTarget,
}

/// What files are published to.
#[derive(Debug)]
pub(super) enum PublishTarget {
    Directory {
        path: PathBuf,
        /// Which directory it was at the start: a file system that is gone at the end leaves
        /// another.
        identity: FileIdentity,
    },
    Bucket {
        url: String,
        settings: BucketSettings,
    },
}

/// The directories and buckets to which the rules publish files of `directory`.
///
/// # Errors
/// One is missing or can't be written, or one of the two lies below the other: files would be
/// published into the managed directory, over others.
pub(in crate::tiers) fn open_publish_targets(
    directory: &Path,
    wanted: &PlacementOptions,
) -> Result<Vec<PublishDestination>, TierError> {
    let tiers = wanted.rules.publish_tiers().into_iter().filter_map(|id| wanted.site.tier(id));
    let open = |tier: &Tier| {
        if let Some(url) = &tier.bucket {
            let refuse = TierError::with_context(Path::new(url), "publishing to");
            super::bucket_uploads::check_bucket_access(url, wanted.settings.clone())
                .map_err(|failed| refuse(std::io::Error::new(failed.kind, failed)))?;
            let to = PublishTarget::Bucket { url: url.clone(), settings: wanted.settings.clone() };
            return Ok(PublishDestination { tier: tier.id.clone(), to });
        }
        let path = tier_path(tier)?;
        let path = path.canonicalize().map_err(TierError::with_context(path, "publishing to"))?;
        let refuse =
            |why| TierError::with_context(&path, "publishing to")(std::io::Error::other(why));
        if path.starts_with(directory) {
            return Err(refuse("it lies below the managed directory"));
        }
        if directory.starts_with(&path) {
            return Err(refuse("the managed directory lies below it"));
        }
        access(&path, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| TierError::with_context(&path, "publishing to")(error.into()))?;
        let at = TierError::with_context(&path, "publishing to");
        let identity = open_with_identity(&path).map_err(|error| at(error.into()))?.1;
        Ok(PublishDestination {
            tier: tier.id.clone(),
            to: PublishTarget::Directory { path, identity },
        })
    };
    tiers.map(open).collect()
}

/// Opens a directory, and tells which it is.
pub(super) fn open_with_identity(path: &Path) -> Result<(OwnedFd, FileIdentity), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, path, flags, Mode::empty())?;
    let identity = FileIdentity::from_statx(&statx_nofollow(fd.as_fd(), c"")?);
    Ok((fd, identity))
}
