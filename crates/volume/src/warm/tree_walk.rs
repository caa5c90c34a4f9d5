//! The files below a path of a tree, where directories are listed as if a program looked into them.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

use super::source::FoundFile;
use crate::backend::Backend;
use forebay_os::file_identity::statx_nofollow;

/// A tree, as its backend keeps it on this machine.
#[derive(Debug)]
pub(super) struct TreeWalk<'a> {
    pub(super) root: &'a OwnedFd,
    pub(super) backend: &'a dyn Backend,
}

const OPEN: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl TreeWalk<'_> {
    /// Opens what is at a path, and nothing that a link leads to.
    ///
    /// # Errors
    /// Those of the file system; EIO: a directory above can't be listed.
    pub(super) fn open_path(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).peekable();
        let mut at = openat(self.root, c".", OPEN | OFlags::DIRECTORY, Mode::empty())?;
        let mut above: Vec<u8> = Vec::new();
        while let Some(name) = names.next() {
            if matches!(name, b"." | b"..") {
                return Err(Errno::INVAL);
            }
            self.ensure_listed(&at, &above)?;
            let kind = if names.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
            at = openat(&at, name, OPEN | kind, Mode::empty())?;
            if !above.is_empty() {
                above.push(b'/');
            }
            above.extend_from_slice(name);
        }
        Ok(at)
    }

    fn ensure_listed(&self, folder: &OwnedFd, path: &[u8]) -> Result<(), Errno> {
        let number = statx_nofollow(folder.as_fd(), c"")?.stx_ino;
        if self.backend.is_listed(number) {
            return Ok(());
        }
        let open = || {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok((path.to_vec(), openat(folder, c".", flags, Mode::empty())?))
        };
        self.backend.list_directory(number, &open)
    }

    /// Hands over each file at a path or below it; links are none. What can't be looked into goes to
    /// `failed`.
    pub(super) fn for_each_file(
        &self,
        path: &[u8],
        found: &mut dyn FnMut(FoundFile),
        failed: &mut dyn FnMut(&[u8], Errno),
    ) {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        let mut todo = vec![names.collect::<Vec<_>>().join(&b'/')];
        while let Some(path) = todo.pop() {
            match self.look_at(&path, found) {
                Ok(below) => todo.extend(below),
                Err(errno) => failed(&path, errno),
            }
        }
    }

    /// A file is handed over; of a directory the files are, and its directories returned.
    fn look_at(
        &self,
        path: &[u8],
        found: &mut dyn FnMut(FoundFile),
    ) -> Result<Vec<Vec<u8>>, Errno> {
        let opened = self.open_path(path)?;
        let stat = statx_nofollow(opened.as_fd(), c"")?;
        match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::RegularFile => {
                found(FoundFile { path: path.to_vec(), size: stat.stx_size });
                return Ok(Vec::new());
            }
            FileType::Directory => {}
            _ => return Ok(Vec::new()),
        }
        self.ensure_listed(&opened, path)?;
        let mut below = Vec::new();
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let inner = if path.is_empty() { name.to_vec() } else { [path, b"/", name].concat() };
            match entry.file_type() {
                FileType::Directory => below.push(inner),
                FileType::RegularFile => {
                    let size = statx_nofollow(opened.as_fd(), entry.file_name())?.stx_size;
                    found(FoundFile { path: inner, size });
                }
                _ => {}
            }
        }
        Ok(below)
    }
}
