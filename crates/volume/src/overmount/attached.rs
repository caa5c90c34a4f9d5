//! The directories that are attached to a volume: their list on the disk, and what it takes to
//! show them. The volume may be another user's, so nothing is followed that they could have put
//! there, and a list counts only for whoever wrote it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use forebay_model::attached::ExposedContent;
use forebay_model::{Attachment, AttachmentSet};
use forebay_os::file_systems::FileSystemKind;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::MountFlags;

use super::{MountEntry, OvermountTarget, RefusedDirectory, open_target};
use crate::bucket::{BucketAccess, BucketError, attach_prefix};
use crate::reads::{PreparedReads, ReadsError, prepare_archive, prepare_plain_files};
use forebay_os::own_folder::{OWN, create_own_folder, is_owned_exclusively, open_own_folder};

/// The list, in a volume.
pub const LIST: &str = ".forebay/attached.toml";
const NAME: &str = "attached.toml";

const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What this user has attached to a volume; nothing if it has no list of theirs.
///
/// # Errors
/// A list that can't be read, or that is no list; the message says where.
pub fn read_attached(volume: &Path) -> io::Result<AttachmentSet> {
    let Some(own) = open_own_folder(volume)? else { return Ok(AttachmentSet::default()) };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = match openat(&own, NAME, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::LOOP) => return Ok(AttachmentSet::default()),
        Err(error) => return Err(error.into()),
    };
    if !is_owned_exclusively(&file)? {
        return Ok(AttachmentSet::default());
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    AttachmentSet::parse(&text, &volume.join(LIST).display().to_string()).map_err(io::Error::other)
}

/// Replaces the list of a volume, whole or not at all.
///
/// # Errors
/// The system's; paths that are no Unicode; a folder that another user made.
pub fn write_attached(volume: &Path, attached: &AttachmentSet) -> io::Result<()> {
    let text = attached.to_toml().ok_or_else(|| {
        io::Error::other("a path is no Unicode text, which the list of attached directories is")
    })?;
    create_own_folder(&volume.join(OWN))?;
    let own = open_own_folder(volume)?
        .ok_or_else(|| io::Error::other("another user made the folder .forebay there"))?;
    if attached.iter().next().is_none() {
        return Ok(unlinkat(&own, NAME, AtFlags::empty())?);
    }
    let fresh = format!("{NAME}.{}", std::process::id());
    let _ = unlinkat(&own, fresh.as_str(), AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let mut file = File::from(openat(&own, fresh.as_str(), flags, mode)?);
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(renameat(&own, fresh.as_str(), &own, NAME)?));
    if written.is_err() {
        let _ = unlinkat(&own, fresh.as_str(), AtFlags::empty());
    }
    written
}

/// Makes the directory in which something is to be shown, without following a link.
///
/// # Errors
/// The system's: ENOTDIR or ELOOP where a link or a file is in the way.
pub fn create_mount_point(volume: &Path, at: &Path) -> io::Result<()> {
    let mut dir = openat(CWD, volume, DIRECTORY, Mode::empty())?;
    for part in at.components() {
        let Component::Normal(name) = part else { continue };
        match mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        dir = openat(&dir, name, DIRECTORY, Mode::empty())?;
    }
    Ok(())
}

/// The directory in which an attached one is shown, reached without following a link.
pub(super) fn open_attached_point(target: &OvermountTarget, at: &Path) -> io::Result<OwnedFd> {
    let depth = at.components().count();
    let volume = target.point.ancestors().nth(depth).unwrap_or(&target.point);
    let root = openat(CWD, volume, DIRECTORY.difference(OFlags::NOFOLLOW), Mode::empty())?;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(&root, at, DIRECTORY, Mode::empty(), how)?)
}

/// What shows the directories that are attached to `volume`.
pub(super) fn attached_targets(
    volume: &Path,
    all: &[MountEntry],
    ways: &BucketAccess,
) -> Result<Vec<OvermountTarget>, RefusedDirectory> {
    let refuse = |path: PathBuf| move |error| RefusedDirectory { path, attached: true, error };
    let attached = read_attached(volume).map_err(refuse(volume.join(LIST)))?;
    let target_of = |one: &Attachment| {
        let point = volume.join(&one.at);
        if !fs::symlink_metadata(&point).is_ok_and(|meta| meta.is_dir()) {
            let why = "a directory is attached here, and there is no directory to show it in";
            return Err(refuse(point)(io::Error::other(why)));
        }
        let found = match (one.bucket_url(), one.shows) {
            (Some(url), ExposedContent::Files) => bucket_target(url, all, ways),
            (_, ExposedContent::Reads(shown)) => {
                reads_target(prepare_archive(&one.source, shown, ways), all)
            }
            (_, ExposedContent::Plain) => reads_target(prepare_plain_files(volume, one, ways), all),
            (None, ExposedContent::Files) => {
                one.source.canonicalize().and_then(|source| open_target(&source, all))
            }
        };
        let mut found = found.map_err(refuse(one.source.clone()))?;
        if one.bucket_url().is_some() || one.shows != ExposedContent::Files {
            // Whoever writes the bucket, or wrote the archive, is no root of this machine.
            found.flags |= MountFlags::NOSUID | MountFlags::NODEV;
        }
        if one.read_only {
            found.flags |= MountFlags::RDONLY;
        }
        Ok(OvermountTarget { point, attached: Some(one.at.clone()), ..found })
    };
    attached.iter().map(target_of).collect()
}

/// What shows a prefix of a bucket: a directory of ours.
fn bucket_target(
    url: &str,
    all: &[MountEntry],
    ways: &BucketAccess,
) -> io::Result<OvermountTarget> {
    let lent = attach_prefix(url, ways).map_err(|trouble| match trouble {
        BucketError::State(path, error) => {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        }
        trouble => io::Error::other(trouble),
    })?;
    let found = open_target(&lent.tree_directory().canonicalize()?, all)?;
    let fs = FileSystemKind { name: "s3".to_owned(), ..found.fs };
    // Records tell the source, also those without names: a bucket's is nobody else's business.
    Ok(OvermountTarget { fs, source: None, lent: Some(lent), ..found })
}

/// What shows reads: a directory of ours, too.
fn reads_target(
    found: Result<PreparedReads, ReadsError>,
    all: &[MountEntry],
) -> io::Result<OvermountTarget> {
    let reads = found.map_err(io::Error::other)?;
    let found = open_target(&reads.directory().canonicalize()?, all)?;
    let fs = FileSystemKind { name: "reads".to_owned(), ..found.fs };
    Ok(OvermountTarget { fs, source: None, reads: Some(reads), ..found })
}
