//! Directories on the tier that files are published to: found without following a link, or made as
//! those are that they stand for.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, Uid, chmodat, fchmod, fchown, fsync, mkdirat, openat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::Publisher;
use crate::tiers::beneath::open_below;
use forebay_os::file_identity::{proc_fd_path, statx_nofollow};

const INTO: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The directory where files are published just now.
pub(super) struct PublishedDirectory {
    to: usize,
    path: PathBuf,
    fd: Arc<OwnedFd>,
}

impl Publisher<'_> {
    /// The directory for the files of `path` below the covered directory, made if need be.
    pub(super) fn ensure_folder(&mut self, to: usize, path: &Path) -> Result<Arc<OwnedFd>, Errno> {
        if let Some(folder) = &self.folder
            && (folder.to, folder.path.as_path()) == (to, path)
        {
            return Ok(Arc::clone(&folder.fd));
        }
        self.close_folder();
        let mut fd = rustix::io::fcntl_dupfd_cloexec(self.base_directory(to)?, 0)?;
        let mut so_far = PathBuf::new();
        for part in path.components() {
            let Component::Normal(part) = part else { return Err(Errno::INVAL) };
            so_far.push(part);
            fd = match openat(&fd, part, INTO, Mode::empty()) {
                Err(Errno::NOENT) => self.make_folder(&fd, to, &so_far)?,
                other => self.enter_folder(other?, to, &so_far)?,
            };
        }
        let fd = Arc::new(fd);
        self.folder = Some(PublishedDirectory { to, path: path.to_owned(), fd: Arc::clone(&fd) });
        Ok(fd)
    }

    /// Goes into a directory that is there, if it belongs to whom the one belongs that it stands for.
    fn enter_folder(&mut self, there: OwnedFd, to: usize, path: &Path) -> Result<OwnedFd, Errno> {
        if geteuid().is_root() {
            let like = statx_nofollow(open_below(self.root, path)?.as_fd(), c"")?;
            let owner = statx_nofollow(there.as_fd(), c"")?.stx_uid;
            self.check_same_owner(to, owner, like.stx_uid)?;
        }
        Ok(there)
    }

    /// Makes a directory as the one is that it stands for; its owner may write to it meanwhile.
    fn make_folder(&mut self, up: &OwnedFd, to: usize, path: &Path) -> Result<OwnedFd, Errno> {
        let like = statx_nofollow(open_below(self.root, path)?.as_fd(), c"")?;
        let name = path.file_name().unwrap_or_default().as_bytes();
        match mkdirat(up, name, Mode::RWXU) {
            // Somebody else publishes here, too.
            Err(Errno::EXIST) => {
                return self.enter_folder(openat(up, name, INTO, Mode::empty())?, to, path);
            }
            other => other?,
        }
        let fd = openat(up, name, INTO, Mode::empty())?;
        let (uid, gid) = (Uid::from_raw(like.stx_uid), Gid::from_raw(like.stx_gid));
        // Only root may; what others make is theirs.
        let _ = fchown(&fd, Some(uid), Some(gid));
        let mode = Mode::from_raw_mode(u32::from(like.stx_mode) & 0o7777);
        fchmod(&fd, mode | Mode::RWXU)?;
        if !mode.contains(Mode::RWXU) {
            self.made.push((to, path.to_owned(), mode));
        }
        fsync(up)?;
        Ok(fd)
    }

    /// Makes the names safe that were made in the directory.
    ///
    /// # Errors
    /// The tier's.
    pub(crate) fn sync_folder(&mut self) -> Result<(), Errno> {
        match self.folder.take().map(|folder| fsync(&folder.fd)) {
            // A file system where there is nothing to do.
            None | Some(Ok(()) | Err(Errno::INVAL)) => Ok(()),
            Some(Err(error)) => Err(error),
        }
    }

    /// The same, where nobody is to blame but the directory.
    pub(super) fn close_folder(&mut self) {
        let at = self.folder.as_ref().map(|folder| (folder.to, folder.path.clone()));
        if let (Err(error), Some((to, path))) = (self.sync_folder(), at) {
            self.record_result(&path, to, Err(error));
        }
    }

    /// Directories that are closed to their owner here are so there, now that they are full.
    pub(super) fn apply_final_modes(&mut self) {
        for (to, path, mode) in std::mem::take(&mut self.made).into_iter().rev() {
            let found = self.base_directory(to).and_then(|base| open_below(base, &path));
            // Without: its owner can look into it, and nobody else.
            let change =
                |fd: OwnedFd| chmodat(CWD, proc_fd_path(fd.as_fd()), mode, AtFlags::empty());
            // A directory that is gone has no times to keep.
            let _ = found.and_then(change);
        }
    }
}
