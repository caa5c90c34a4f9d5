//! Where files are on their way while a run goes on: a directory of Forebay's own in the covered one,
//! on its file system. A file gets its name by one rename from there, so no program ever lists a half
//! of one beside its own files, nor fails to remove a directory because of it.
//!
//! All is reached through descriptors: where the directory is covered, its paths lead to ourselves.

use std::ffi::CStr;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::OWN;
use super::arrivals::{LIST, line};

/// The directory's name in Forebay's own folder.
const NAME: &CStr = c"moving";

/// The way from one place to another.
#[derive(Debug)]
pub(crate) struct Passage {
    dir: OwnedFd,
    /// The list of files on their way, and how long it was at first: what an earlier, killed, run
    /// left there is for the next homecoming.
    list: Mutex<(File, u64)>,
}

fn own(root: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(root, OWN, flags, Mode::empty())
}

impl Passage {
    /// Opens it in the covered directory behind `root`, empty.
    ///
    /// # Errors
    /// No room or no right there.
    pub(crate) fn open(root: BorrowedFd<'_>) -> Result<Passage, Errno> {
        let own = own(root)?;
        clear(&own);
        match mkdirat(&own, NAME, Mode::RWXU) {
            Err(Errno::EXIST) => {}
            other => other?,
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(&own, NAME, flags, Mode::empty())?;
        // New files would get its list instead of their own.
        let _ = rustix::fs::fremovexattr(&dir, c"system.posix_acl_default");
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let list = openat(&own, LIST, flags | OFlags::CLOEXEC, mode)?;
        let length = rustix::fs::fstat(&list)?.st_size as u64;
        Ok(Passage { dir, list: Mutex::new((File::from(list), length)) })
    }

    pub(super) fn dir(&self) -> &OwnedFd {
        &self.dir
    }

    /// Notes a body that may be left without a link if we are killed, before it can be.
    pub(super) fn note(&self, body: &[u8], link: &[u8]) -> std::io::Result<()> {
        self.list.lock().0.write_all(&line(body, link))
    }

    /// All that was noted has arrived.
    pub(crate) fn arrived(&self) {
        let list = self.list.lock();
        let _ = list.0.set_len(list.1);
    }
}

/// Takes away what a kill left on its way: its bytes are whole where it came from.
pub(super) fn take_away(root: BorrowedFd<'_>) {
    if let Ok(own) = own(root) {
        clear(&own);
        let _ = unlinkat(&own, NAME, AtFlags::REMOVEDIR);
    }
}

/// The names of what is on its way, or was when a run was killed.
pub(super) fn on_the_way(root: BorrowedFd<'_>) -> Vec<std::ffi::CString> {
    own(root).and_then(|own| names(&own)).unwrap_or_default()
}

fn names(own: &OwnedFd) -> Result<Vec<std::ffi::CString>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = openat(own, NAME, flags, Mode::empty())?;
    let entries = Dir::read_from(&dir)?.flatten();
    let files = entries.filter(|entry| entry.file_type() != FileType::Directory);
    Ok(files.map(|entry| entry.file_name().to_owned()).collect())
}

fn clear(own: &OwnedFd) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(dir) = openat(own, NAME, flags, Mode::empty()) else { return };
    for name in names(own).unwrap_or_default() {
        let _ = unlinkat(dir.as_fd(), &name, AtFlags::empty());
    }
}
