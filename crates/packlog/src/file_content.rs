//! The bytes of packed files, between the log and working files.

use std::sync::Arc;

use rustix::io::Errno;

use super::pack_index::{ContentLocation, Inode};
use super::record::{Record, Time};
use super::working_files::write_content;
use super::{LARGEST, Pack, Result, WorkingFile};

impl Pack {
    /// The bytes of a file, whole.
    ///
    /// # Errors
    /// EIO when they are not what was written.
    pub fn read_content(&self, ino: u64) -> Result<Vec<u8>> {
        let (disk, at, size, crc) = {
            let state = self.state.lock();
            let inode = state.index.inodes.get(ino).ok_or(Errno::STALE)?;
            match inode.bytes {
                ContentLocation::Log { at, size, crc } => {
                    let disk = state.old.get(&ino).unwrap_or(&state.log.disk);
                    (Arc::clone(disk), at, size, crc)
                }
                _ => return Ok(Vec::new()),
            }
        };
        let mut bytes = vec![0; size as usize];
        let count = disk.read_at(at, &mut bytes)?;
        match count == bytes.len() && crc32fast::hash(&bytes) == crc {
            true => Ok(bytes),
            false => Err(Errno::IO),
        }
    }

    /// Whether the log has all bytes of a file.
    pub fn is_content_in_log(&self, ino: u64) -> bool {
        let state = self.state.lock();
        let Some(inode) = state.index.inodes.get(ino) else { return false };
        inode.work.is_none() && !matches!(inode.bytes, ContentLocation::Body { .. })
    }

    /// The working file that has a file's bytes, if the log has not: its body, or one that the log
    /// could not take.
    pub fn open_working_file(&self, ino: u64) -> Result<Option<WorkingFile>> {
        let number = {
            let state = self.state.lock();
            let inode = state.index.inodes.get(ino).ok_or(Errno::STALE)?;
            match inode.bytes {
                ContentLocation::Body { work } => Some(work),
                _ => inode.work,
            }
        };
        number.map(|number| self.works.open(number)).transpose()
    }

    /// A working file with the bytes of a file that nobody has open.
    ///
    /// `true` beside it: its bytes are newer than what the log has. Who only reads gets a file in
    /// memory when the tier is full.
    pub fn prepare_working_file(&self, ino: u64, writes: bool) -> Result<(WorkingFile, bool)> {
        if let Some(work) = self.open_working_file(ino)? {
            let newer = !self.is_data_file(ino, &work);
            return Ok((work, newer));
        }
        let content = self.read_content(ino)?;
        let filled =
            self.works.take_empty().and_then(|work| match write_content(&work, &content) {
                Ok(()) => Ok(work),
                Err(error) => {
                    self.works.give_back(work);
                    Err(error)
                }
            });
        let work = match filled {
            Err(Errno::NOSPC | Errno::DQUOT) if !writes => {
                let work = WorkingFile::in_memory()?;
                write_content(&work, &content)?;
                work
            }
            filled => filled?,
        };
        Ok((work, false))
    }

    /// Opens a working file once more, with other flags.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn reopen_working_file(
        &self,
        work: &WorkingFile,
        flags: rustix::fs::OFlags,
    ) -> Result<std::os::fd::OwnedFd> {
        self.works.reopen(work, flags)
    }

    /// A working file is about to be written to.
    ///
    /// # Errors
    /// ENOSPC and the like.
    pub fn begin_writing(&self, ino: u64, work: &WorkingFile) -> Result<()> {
        self.forget_eager_copy(ino);
        let mut state = self.state.lock();
        let inode = state.index.inodes.get(ino).ok_or(Errno::STALE)?;
        let is_body = inode.bytes == ContentLocation::Body { work: work.number };
        if work.is_in_memory() {
            return Err(Errno::NOSPC);
        }
        match is_body || inode.work == Some(work.number) || inode.links == 0 {
            true => Ok(()),
            false => state.write_record(&Record::Work { ino, work: work.number }, &[]),
        }
    }

    /// Puts the bytes of a working file into the log, or makes it the file's body. `more`: it may
    /// still be written to.
    ///
    /// # Errors
    /// ENOSPC and the like; the working file has the bytes then, also after a kill.
    pub fn commit_content(&self, ino: u64, work: &WorkingFile, more: bool) -> Result<()> {
        let stat =
            forebay_os::file_identity::statx_nofollow(std::os::fd::AsFd::as_fd(&work.file), c"")?;
        self.commit_content_as(ino, work, &stat, more)
    }

    /// The same of a working file that statx(2) has just said this of.
    ///
    /// # Errors
    /// Those of [`Pack::commit_content`].
    pub fn commit_content_as(
        &self,
        ino: u64,
        work: &WorkingFile,
        stat: &rustix::fs::Statx,
        more: bool,
    ) -> Result<()> {
        self.forget_eager_copy(ino);
        let (mtime, ctime) =
            (Time::from_timestamp(&stat.stx_mtime), Time::from_timestamp(&stat.stx_ctime));
        let size = stat.stx_size;
        if size > LARGEST || self.is_data_file(ino, work) {
            // Its number is in the log since it was made, or begun. It never goes back: an older
            // log, as a power failure may leave it, would name a file that holds other bytes.
            return self.state.lock().write_record(&Record::Body { ino, size, mtime, ctime }, &[]);
        }
        let mut content = vec![0; size as usize];
        let mut done = 0;
        while done < content.len() {
            match rustix::io::pread(&work.file, &mut content[done..], done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        content.truncate(done);
        let work = if more { work.number } else { 0 };
        let record = Record::Content { ino, mtime, ctime, work };
        let mut state = self.state.lock();
        let mut done = state.write_record(&record, &content);
        if done == Err(Errno::NOSPC) {
            drop(state);
            self.free_tier_space();
            state = self.state.lock();
            done = state.write_record(&record, &content);
        }
        match done {
            Ok(()) => self.rewrite_if_worthwhile(&mut state),
            Err(_) => state.index.set_size_and_times(ino, size, mtime, ctime),
        }
        done
    }

    /// Makes the working file of a new file its body for good.
    ///
    /// # Errors
    /// ENOSPC and the like.
    pub fn make_data_file(&self, ino: u64, work: &WorkingFile) -> Result<()> {
        let stat =
            forebay_os::file_identity::statx_nofollow(std::os::fd::AsFd::as_fd(&work.file), c"")?;
        let (mtime, ctime) =
            (Time::from_timestamp(&stat.stx_mtime), Time::from_timestamp(&stat.stx_ctime));
        self.state.lock().write_record(&Record::Body { ino, size: 0, mtime, ctime }, &[])
    }

    /// Attributes of the file that is the body of a large one.
    pub fn stat_data_file(&self, ino: u64) -> Option<rustix::fs::Statx> {
        let bytes = self.state.lock().index.inodes.get(ino)?.bytes;
        match bytes {
            ContentLocation::Body { work } => self.works.stat(work),
            _ => None,
        }
    }

    /// Whether a working file is the file's body.
    pub fn is_data_file(&self, ino: u64, work: &WorkingFile) -> bool {
        let state = self.state.lock();
        let body = ContentLocation::Body { work: work.number };
        state.index.inodes.get(ino).is_some_and(|inode| inode.bytes == body)
    }

    /// A working file is used no more. A body stays, as long as its file has a name.
    pub fn release_working_file(&self, ino: u64, work: WorkingFile) {
        let state = self.state.lock();
        let inode = state.index.inodes.get(ino);
        let body = |inode: &Inode| inode.bytes == ContentLocation::Body { work: work.number };
        let kept = inode.is_some_and(|inode| body(inode) || inode.work == Some(work.number));
        drop(state);
        if !kept {
            self.works.give_back(work);
        }
    }

    /// A working file that was to be written to was not.
    ///
    /// # Errors
    /// ENOSPC and the like.
    pub fn cancel_writing(&self, ino: u64) -> Result<()> {
        let mut state = self.state.lock();
        match state.index.inodes.get(ino).is_some_and(|inode| inode.work.is_some()) {
            true if state.index.inodes.get(ino).is_some_and(|inode| inode.links > 0) => {
                state.write_record(&Record::Work { ino, work: 0 }, &[])
            }
            true => Ok(()),
            false => Ok(()),
        }
    }
}
