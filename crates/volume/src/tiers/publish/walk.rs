//! Finding what is to be published: all files that are to be, or the names of such, below the
//! covered directory, that the tier does not have as they are.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Statx, readlinkat};
use rustix::io::Errno;

use super::Publisher;
use super::source_file::PublishSource;
use crate::tiers::beneath::open_parent;
use crate::tiers::walk::{WalkMode, walk_tree};
use crate::tiers::{LeftBehindFile, TieredFile, is_trusted_link};
use forebay_os::file_identity::statx_nofollow;
use forebay_packlog::Time;

/// How the names begin that files have on their way home, beside their own.
const PASSING: &[u8] = b".forebay.";

/// A file that is to be published.
pub(super) struct PublishCandidate {
    pub(super) path: PathBuf,
    pub(super) to: usize,
    pub(super) what: PublishKind,
    pub(super) bytes: u64,
    pub(super) mtime: Time,
}

pub(super) enum PublishKind {
    /// A plain file in place.
    Plain,
    /// A link of ours: the body.
    Body(TieredFile),
    /// Somebody's link, and whose.
    Link(CString, (u32, u32)),
}

impl Publisher<'_> {
    /// Publishes all that lies in place, or whose link does.
    pub(in crate::tiers) fn publish_all(&mut self) {
        let mut found = Vec::new();
        let closed = walk_tree(self.root, WalkMode::Look, &mut |dir, name, kind, path| {
            if matches!(kind, FileType::RegularFile | FileType::Symlink) {
                found.extend(self.inspect_name(dir, name, path));
            }
        });
        self.done.failed.extend(closed.into_iter().map(|LeftBehindFile { path, why }| {
            LeftBehindFile { path, why: format!("the directory can't be read: {why}") }
        }));
        // Those that were to go first and could not are not tried twice.
        let tried: BTreeSet<_> = self.done.failed.iter().map(|left| left.path.clone()).collect();
        found.retain(|one| !tried.contains(&one.path));
        let bytes = found.iter().map(|one| one.bytes).sum();
        self.progress.begin_phase(true, found.len() as u64, bytes);
        let mut so_far = (0, 0);
        let mut counted = |publisher: &mut Self, one: &PublishCandidate| {
            so_far = (so_far.0 + 1, so_far.1 + one.bytes);
            publisher.progress.reset_copied_bytes();
            publisher.progress.set_done(so_far.0, so_far.1);
        };
        let (objects, files): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|one| self.buckets[one.to].is_some());
        for one in files {
            let done = self.publish_wanted(&one);
            self.record_result(&one.path, one.to, done);
            counted(self, &one);
        }
        self.upload_all(&objects, counted);
    }

    fn publish_wanted(
        &mut self,
        PublishCandidate { path, to, what, .. }: &PublishCandidate,
    ) -> Result<u64, Errno> {
        match what {
            PublishKind::Plain => {
                let (dir, name) = open_parent(self.root, path)?;
                self.publish_file(*to, path, &PublishSource::Here(dir.as_fd(), &name))
            }
            PublishKind::Body(placed) => {
                self.publish_file(*to, path, &PublishSource::Body(self.tiers, placed))
            }
            PublishKind::Link(target, owner) => self.publish_link(*to, path, target, *owner),
        }
    }

    /// What is to be done with a name.
    fn inspect_name(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        path: &Path,
    ) -> Option<PublishCandidate> {
        // A copy that a homecoming began which was killed.
        if name.to_bytes().starts_with(PASSING) {
            return None;
        }
        let to = self.publish_target(path)?;
        let stat = statx_nofollow(dir.as_fd(), name).ok()?;
        let (what, stat) = match self.resolve_name(dir, name, stat) {
            Ok(found) => found,
            Err(why) => {
                self.done.failed.push(LeftBehindFile { path: path.to_owned(), why });
                return None;
            }
        };
        let mtime = Time::from_timestamp(&stat.stx_mtime);
        let (old, bytes) = match &what {
            PublishKind::Link(target, _) => (self.has_same_link(to, path, target), 0),
            // Of a bucket many are asked at once, later.
            _ if self.buckets[to].is_some() => (false, stat.stx_size),
            _ => (self.has_same_file(to, path, stat.stx_size, mtime), stat.stx_size),
        };
        if old {
            None
        } else {
            Some(PublishCandidate { path: path.to_owned(), to, what, bytes, mtime })
        }
    }

    /// What a name stands for, and its attributes. A link to where bodies lie is never somebody's
    /// own: published as it is, it would take the place of the file that it stood for before.
    fn resolve_name(
        &self,
        dir: &OwnedFd,
        name: &CStr,
        stat: Statx,
    ) -> Result<(PublishKind, Statx), String> {
        if u32::from(stat.stx_mode) & libc::S_IFMT != libc::S_IFLNK {
            return Ok((PublishKind::Plain, stat));
        }
        if let Some(placed) = self.tiers.recognise_link(dir.as_fd(), name) {
            let body = self.tiers.stat_data_file(&placed);
            let body = body.map_err(|error| format!("its body is not there: {error}"))?;
            return match is_trusted_link(&stat, &body) {
                true => Ok((PublishKind::Body(placed), body)),
                false => Err("it leads to a body that is another user's".to_owned()),
            };
        }
        let target = readlinkat(dir, name, Vec::new()).map_err(|error| error.to_string())?;
        let path = Path::new(OsStr::from_bytes(target.to_bytes()));
        if self.tiers.missing.iter().any(|entry| path.starts_with(&entry.path)) {
            return Err("its tier is not there".to_owned());
        }
        if self.tiers.rooms.iter().any(|room| path.starts_with(&room.path)) {
            return Err("it leads to where bodies lie, and to none".to_owned());
        }
        let owner = (stat.stx_uid, stat.stx_gid);
        Ok((PublishKind::Link(target, owner), stat))
    }
}
