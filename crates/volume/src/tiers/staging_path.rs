//! Where files are on their way while a run goes on: a directory of Forebay's own in the covered one,
//! on its file system. A file gets its name by one rename from there, so no program ever lists a half
//! of one beside its own files, nor fails to remove a directory because of it.
//!
//! All is reached through descriptors: where the directory is covered, its paths lead to ourselves.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use parking_lot::Mutex;
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, readlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::OWN;
use super::arrivals::{FAILED, LIST, PendingWriteBack, format_entry};
use forebay_os::file_identity::{FileIdentity, statx_nofollow};

/// The directory's name in Forebay's own folder.
const NAME: &CStr = c"moving";

/// The way from one place to another.
#[derive(Debug)]
pub(crate) struct StagingPath {
    dir: OwnedFd,
    /// The list of files on their way, and how long it was at first: what an earlier, killed, run
    /// left there is for the next homecoming.
    list: Mutex<(File, u64)>,
}

fn open_own_folder(root: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(root, OWN, flags, Mode::empty())
}

/// Whether it is such a thing, ours, and shut to others in these ways.
fn check_ownership(file: &OwnedFd, kind: FileType, shut: Mode) -> Result<(), Errno> {
    let stat = fstat(file)?;
    let is_ours = FileType::from_raw_mode(stat.st_mode) == kind
        && stat.st_uid == geteuid().as_raw()
        && !Mode::from_raw_mode(stat.st_mode).intersects(shut);
    if is_ours { Ok(()) } else { Err(Errno::PERM) }
}

impl StagingPath {
    /// Opens it in the covered directory behind `root`, empty.
    ///
    /// # Errors
    /// No room or no right there; PERM where somebody else could put files of theirs on the way.
    pub(crate) fn open(root: BorrowedFd<'_>) -> Result<StagingPath, Errno> {
        let own = open_own_folder(root)?;
        // Root may serve a tree of somebody else's, who could have exchanged the folder since it
        // was looked at; who serves a tree of one's own may let a group write there.
        let shut = if geteuid().is_root() { Mode::WGRP | Mode::WOTH } else { Mode::WOTH };
        check_ownership(&own, FileType::Directory, shut)?;
        match mkdirat(&own, NAME, Mode::RWXU) {
            Err(Errno::EXIST) => {}
            other => other?,
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(&own, NAME, flags, Mode::empty())?;
        check_ownership(&dir, FileType::Directory, Mode::RWXG | Mode::RWXO)?;
        // New files would get its list instead of their own.
        let _ = rustix::fs::fremovexattr(&dir, c"system.posix_acl_default");
        // A pipe in its place must not make us wait for its reader.
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
        let (flags, mode) = (flags | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let list = openat(&own, LIST, flags, mode)?;
        check_ownership(&list, FileType::RegularFile, shut)?;
        let mut list = File::from(list);
        for PendingWriteBack { body, link } in list_failed_arrivals(&own) {
            list.write_all(&format_entry(body.as_os_str().as_bytes(), link.as_os_str().as_bytes()))
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        }
        remove_staged_files(&own);
        let length = fstat(&list)?.st_size as u64;
        Ok(StagingPath { dir, list: Mutex::new((list, length)) })
    }

    pub(super) fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// Notes a body that may be left without a link if we are killed, before it can be.
    pub(super) fn note_staged_file(&self, body: &[u8], link: &[u8]) -> std::io::Result<()> {
        self.list.lock().0.write_all(&format_entry(body, link))
    }

    /// All that was noted has arrived.
    pub(crate) fn clear_notes(&self) {
        let list = self.list.lock();
        // A longer list is looked through in vain.
        let _ = list.0.set_len(list.1);
    }
}

/// Takes away what a kill left on its way: its bytes are whole where it came from. Tells what it was.
pub(super) fn remove_leftovers(root: BorrowedFd<'_>) -> Vec<PendingWriteBack> {
    let Ok(own) = open_own_folder(root) else { return Vec::new() };
    let all = list_failed_arrivals(&own);
    remove_staged_files(&own);
    let _ = unlinkat(&own, NAME, AtFlags::REMOVEDIR);
    all
}

/// All that is on its way and will not arrive: the body that a link would have had, and which file
/// it is.
fn list_failed_arrivals(own: &OwnedFd) -> Vec<PendingWriteBack> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(dir) = openat(own, NAME, flags, Mode::empty()) else { return Vec::new() };
    let one = |name: std::ffi::CString| {
        let stat = statx_nofollow(dir.as_fd(), &name).ok()?;
        let body = readlinkat(&dir, &name, Vec::new()).unwrap_or_default();
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let link = path(&FAILED.mark_for(&FileIdentity::from_statx(&stat)));
        Some(PendingWriteBack { body: path(body.to_bytes()), link })
    };
    read_staged_names(own).unwrap_or_default().into_iter().filter_map(one).collect()
}

/// The names of what is on its way, or was when a run was killed.
pub(super) fn list_staged_names(root: BorrowedFd<'_>) -> Vec<std::ffi::CString> {
    open_own_folder(root).and_then(|own| read_staged_names(&own)).unwrap_or_default()
}

fn read_staged_names(own: &OwnedFd) -> Result<Vec<std::ffi::CString>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = openat(own, NAME, flags, Mode::empty())?;
    let entries = Dir::read_from(&dir)?.flatten();
    let files = entries.filter(|entry| entry.file_type() != FileType::Directory);
    Ok(files.map(|entry| entry.file_name().to_owned()).collect())
}

fn remove_staged_files(own: &OwnedFd) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(dir) = openat(own, NAME, flags, Mode::empty()) else { return };
    for name in read_staged_names(own).unwrap_or_default() {
        let _ = unlinkat(dir.as_fd(), &name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    //! If these fail, somebody else's file gets the name of one that is on its way.
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_way_that_others_can_reach_is_not_taken() {
        let root = tempfile::tempdir().expect("a directory");
        let open = || StagingPath::open(File::open(root.path()).expect("it").as_fd()).map(drop);
        let own = root.path().join(OWN);
        fs::create_dir(&own).expect("made");
        let mode = |name: &str, mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(own.join(name), mode).expect("changed");
        };
        mode("", 0o755);
        assert_eq!(open(), Ok(()));
        mode("moving", 0o777);
        assert_eq!(open(), Err(Errno::PERM));
        mode("moving", 0o700);
        assert_eq!(open(), Ok(()));
        mode("", 0o757);
        assert_eq!(open(), Err(Errno::PERM));
        mode("", 0o755);
        let list = own.join(LIST);
        fs::remove_file(&list).expect("removed");
        rustix::fs::mkfifoat(rustix::fs::CWD, &list, Mode::RUSR | Mode::WUSR).expect("a pipe");
        assert!(open().is_err(), "and it did not wait for a reader");
    }
}
