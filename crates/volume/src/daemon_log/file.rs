//! The file that lines go to, and the one before it. It is reached through its folder, which was
//! opened before anything was mounted: a path could lead through a mount of our own.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, renameat, unlinkat};

use super::{LOG, OLDER};

/// Bytes after which another file is begun.
pub(super) const MOST: u64 = 10 << 20;

/// The log of one daemon.
#[derive(Debug)]
pub(super) struct LogFile {
    folder: OwnedFd,
    most: u64,
    file: Option<File>,
    size: u64,
    /// The last line is there in part.
    is_torn: bool,
    /// Lines that could not be written since one could, and all of them.
    missing: u64,
    pub(super) lost: u64,
    /// Why some could not, the first.
    pub(super) why: Option<String>,
}

impl LogFile {
    /// That of this folder. A file that can't be opened is tried again with each line.
    pub(super) fn in_folder(folder: OwnedFd, most: u64) -> LogFile {
        let (missing, lost) = (0, 0);
        let mut log =
            LogFile { folder, most, file: None, size: 0, is_torn: false, missing, lost, why: None };
        log.reopen();
        log
    }

    /// Opens what has the name now: somebody may have moved the old file away.
    pub(super) fn reopen(&mut self) {
        self.file = None;
        match open_log(self.folder.as_fd()) {
            Ok((file, size)) => (self.file, self.size) = (Some(file), size),
            Err(error) => self.note_error(&error),
        }
    }

    fn note_error(&mut self, error: &io::Error) {
        self.why.get_or_insert_with(|| error.to_string());
    }

    /// Writes a line, or counts it as missing.
    pub(super) fn write_line(&mut self, line: &str) {
        if self.file.is_none() {
            self.reopen();
        }
        let mut text = String::new();
        if self.is_torn {
            text.push('\n');
        }
        if self.missing > 0 {
            text += &format!("({} lines are missing here)\n", self.missing);
        }
        text += line;
        match self.append_bytes(text.as_bytes()) {
            Ok(()) => (self.missing, self.is_torn) = (0, false),
            Err(error) => {
                self.note_error(&error);
                self.missing += 1;
                self.lost += 1;
            }
        }
    }

    fn append_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.size > 0 && self.size + bytes.len() as u64 > self.most {
            renameat(&self.folder, LOG, &self.folder, OLDER)?;
            self.reopen();
        }
        let Some(file) = &mut self.file else {
            return Err(io::Error::other("it can't be opened"));
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => {
                    (rest, self.size) = (&rest[size..], self.size + size as u64);
                    self.is_torn = true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes all of it away.
    pub(super) fn remove_files(&self, about: &str) {
        for name in [LOG, OLDER, about] {
            let _ = unlinkat(&self.folder, name, AtFlags::empty());
        }
    }
}

/// A link in its place is not followed, and nothing but a file is taken for it.
fn open_log(folder: impl AsFd) -> io::Result<(File, u64)> {
    let how = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::CLOEXEC
        | OFlags::NONBLOCK
        | OFlags::NOCTTY;
    let file = openat(folder, LOG, how, Mode::RUSR | Mode::WUSR)?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("what is there is no file"));
    }
    Ok((File::from(file), stat.st_size as u64))
}

/// Adds lines of another process.
pub(super) fn append_lines(folder: &Path, lines: &[u8]) -> io::Result<()> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, how, Mode::empty())?;
    open_log(folder)?.0.write_all(lines)
}

#[cfg(test)]
mod tests {
    //! If these fail, a daemon's log fills a disk, or is written where somebody's link leads.
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn log_in(folder: &Path, most: u64) -> LogFile {
        LogFile::in_folder(OwnedFd::from(File::open(folder).expect("a folder")), most)
    }

    #[test]
    fn a_file_that_is_full_becomes_the_older_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = log_in(folder.path(), 100);
        (0..25).for_each(|number| log.write_line(&format!("line {number:03}\n")));
        let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("read");
        let (new, old) = (read(LOG), read(OLDER));
        assert_eq!((old.len(), old.lines().next()), (99, Some("line 011")));
        assert_eq!(new, "line 022\nline 023\nline 024\n");
        let mode = std::fs::metadata(folder.path().join(LOG)).expect("there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);
        assert_eq!((log.lost, log.why), (0, None));
    }

    #[test]
    fn a_file_that_was_moved_away_is_begun_anew_when_somebody_says_so() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut log = log_in(folder.path(), MOST);
        log.write_line("one\n");
        std::fs::rename(folder.path().join(LOG), folder.path().join("aside")).expect("moved");
        log.write_line("two\n");
        log.reopen();
        log.write_line("three\n");
        let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("read");
        assert_eq!((read("aside").as_str(), read(LOG).as_str()), ("one\ntwo\n", "three\n"));
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_said_when_it_can() {
        let folder = tempfile::tempdir().expect("a folder");
        let other = folder.path().join("other");
        std::fs::write(&other, "mine").expect("written");
        std::os::unix::fs::symlink(&other, folder.path().join(LOG)).expect("linked");
        let mut log = log_in(folder.path(), MOST);
        log.write_line("one\n");
        log.write_line("two\n");
        assert_eq!(std::fs::read_to_string(&other).expect("read"), "mine", "no link is followed");
        assert!(log.lost == 2 && log.why.is_some(), "{log:?}");
        std::fs::remove_file(folder.path().join(LOG)).expect("removed");
        log.write_line("three\n");
        let text = std::fs::read_to_string(folder.path().join(LOG)).expect("read");
        assert_eq!(text, "(2 lines are missing here)\nthree\n");
    }
}
