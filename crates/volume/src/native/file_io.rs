//! Bytes of open files: reading, writing, and what a close has to tell.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;

use super::{FileHandle, IoState, Native, Result};
use forebay_os::file_identity::{reopen_with_flags, statx_nofollow};

impl Native {
    /// Reads into `buffer` at `offset`; returns how much there was. `keeps`: the kernel keeps it
    /// as pages, for mappings or its cache.
    ///
    /// # Errors
    /// The backing file system's.
    pub(crate) fn read(
        &self,
        handle: &FileHandle,
        buffer: &mut [u8],
        offset: u64,
        keeps: bool,
    ) -> Result<usize> {
        if let Some(done) = self.read_from_source(handle, offset, buffer) {
            return done;
        }
        if let Some(done) = self.read_from_log(handle, offset, buffer) {
            return done;
        }
        self.write_held_pages(handle);
        self.ensure_opened(handle)?;
        let shared = handle.state == IoState::Direct && handle.node.locked.load(Relaxed);
        self.fetch_range(handle, offset, buffer.len() as u64)?;
        let done = Native::read_fully(handle, buffer, offset)?;
        if shared && keeps {
            self.pages.remember_read_pages(handle.node.id, offset, &buffer[..done]);
        }
        Ok(done)
    }

    /// Bytes of a mapping that are held back go into the file before anything else happens to it.
    pub(crate) fn write_held_pages(&self, handle: &FileHandle) {
        if handle.state == IoState::Direct && handle.node.locked.load(Relaxed) {
            self.pages.write_held_pages(handle.node.id);
        }
    }

    fn read_fully(handle: &FileHandle, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match rustix::io::pread(
                handle.read_descriptor(),
                &mut buffer[done..],
                offset + done as u64,
            ) {
                Ok(0) => break,
                Ok(count) => {
                    done += count;
                    // Where the file ended when it was opened, it seldom goes on: to be told so by
                    // the storage would be one more system call for each small file.
                    if offset + done as u64 == handle.stamp.2 {
                        break;
                    }
                }
                Err(Errno::INTR) => {}
                // What was read before the fault is given; the fault comes back on the next read.
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// Follows fcntl(2) `F_SETFL`: the kernel tells of it with the next write only.
    ///
    /// # Errors
    /// EPERM of a file that may only be appended to (chattr(1)): its bytes would go elsewhere.
    pub(crate) fn apply_append_flag(&self, handle: &FileHandle, flags: u32) -> Result<()> {
        let appends = flags & libc::O_APPEND as u32 != 0;
        if handle.appends.load(Relaxed) != appends {
            let flags = if appends { OFlags::APPEND } else { OFlags::empty() };
            rustix::fs::fcntl_setfl(&handle.file, flags)?;
            handle.appends.store(appends, Relaxed);
        }
        Ok(())
    }

    /// Writes `data` at `offset` (at the end, if the file was opened to append).
    ///
    /// # Errors
    /// ENOSPC, EDQUOT, EFBIG, EIO from the backing file system, also of an earlier write that nobody
    /// waited for.
    pub(crate) fn write(&self, handle: &FileHandle, data: &[u8], offset: u64) -> Result<usize> {
        self.write_held_pages(handle);
        handle.report_write_error()?;
        match self.write_through(&handle.file, handle, data, offset)? {
            (0, rest) => rest.map(|()| 0),
            // What kept the rest comes back on the next write.
            (done, _) => Ok(done),
        }
    }

    /// Writes pages of a mapping back: at their place, also through a handle that appends. All or
    /// nothing: the kernel does not look at how much of a page was written.
    ///
    /// # Errors
    /// As [`Native::write`].
    pub(crate) fn write_mapped(
        &self,
        handle: &Arc<FileHandle>,
        data: &[u8],
        offset: u64,
    ) -> Result<usize> {
        if handle.appends.load(Relaxed) {
            let file = reopen_with_flags(handle.file.as_fd(), OFlags::WRONLY | OFlags::NONBLOCK)?;
            return self.write_through(&file, handle, data, offset)?.1.map(|()| data.len());
        }
        if !handle.node.locked.load(Relaxed) {
            return self.write_through(&handle.file, handle, data, offset)?.1.map(|()| data.len());
        }
        for (at, read_descriptor) in self.pages.changed_ranges(handle, offset, data) {
            let wrote = self.write_through(&handle.file, handle, &read_descriptor, at);
            if let Err(error) = wrote.and_then(|(_, rest)| rest) {
                self.pages.forget_failed_page(handle.node.id, at);
                return Err(error);
            }
        }
        Ok(data.len())
    }

    fn write_through(
        &self,
        file: &OwnedFd,
        handle: &FileHandle,
        data: &[u8],
        offset: u64,
    ) -> Result<(usize, Result<()>)> {
        self.fetch_before_write(handle)?;
        let write = |data: &[u8], at| rustix::io::pwrite(file, data, at);
        let (done, rest) = write_all_at(data, offset, write);
        if let Some(packed) = handle.node.packed.get() {
            packed.mark_dirty();
            self.sync_if_asked(handle, packed)?;
        }
        if handle.state == IoState::Cached {
            self.check_append(handle, offset + done as u64);
        }
        Ok((done, rest))
    }

    /// In the cached state the kernel chose the offset of an append; if somebody outside had
    /// appended meanwhile, its pages are wrong and must go.
    fn check_append(&self, handle: &FileHandle, expected_end: u64) {
        if !handle.appends.load(Relaxed) {
            return;
        }
        let moved = statx_nofollow(handle.file.as_fd(), c"")
            .is_ok_and(|stat| stat.stx_size != expected_end);
        if let (true, Some(watch)) = (moved, self.watch.get()) {
            // From another thread: the writer's lock on the inode is held until we answer.
            watch.queue_invalidation(handle.node.id);
        }
    }

    /// A copy of the descriptor was closed: `owner`'s byte-range locks on the file end.
    ///
    /// # Errors
    /// What closing a copy of the backing file reports (EIO, EDQUOT, ENOSPC on network storage), and
    /// that of a write that nobody waited for.
    pub(crate) fn flush(&self, handle: &FileHandle, owner: u64) -> Result<()> {
        self.release_owner_locks(handle, owner);
        // Those of the open file end with its last descriptor, which this may have been.
        if handle.flocked.load(Relaxed) || !handle.lockers.lock().is_empty() {
            handle.closing.store(true, Relaxed);
        }
        self.write_held_pages(handle);
        let written = handle.report_write_error();
        if !handle.writes {
            return written;
        }
        // Network file systems send what is left, and tell of failures, on close.
        let copy = rustix::io::fcntl_dupfd_cloexec(&handle.file, 0)?;
        close_reporting(copy).and(written)
    }

    /// The last copy of a descriptor is closed. Returns the handle, for the record.
    pub(crate) fn release(&self, fh: u64) -> Option<Arc<FileHandle>> {
        let handle = self.handles.lock().remove(&fh)?;
        let node = Arc::clone(&handle.node);
        handle.release_flock();
        self.charge_tier_usage(&handle);
        let mut open = node.open.lock();
        open.handles.retain(|other| !Arc::ptr_eq(other, &handle));
        self.release_leftover_locks(&handle, &open.handles);
        let last = open.shared.remove_open();
        if last {
            open.backing = None;
            open.copy = None;
        }
        drop(open);
        if last {
            self.close_source(&handle);
            self.pages.forget_file(node.id);
            self.copy_after_last_close(&handle);
            self.queue_if_misplaced(&node);
        }
        self.close_packed_handle(&node);
        if handle.writes {
            self.queue_eager_write_back(&node);
            self.announce_written_file(&handle);
        }
        Some(handle)
    }

    /// Reserves or gives back space.
    ///
    /// # Errors
    /// EOPNOTSUPP where the backing file system can't, ENOSPC, EFBIG.
    pub(crate) fn fallocate(
        &self,
        handle: &FileHandle,
        mode: u32,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        self.fetch_before_write(handle)?;
        rustix::fs::fallocate(
            &handle.file,
            FallocateFlags::from_bits_retain(mode),
            offset,
            length,
        )?;
        if let Some(packed) = handle.node.packed.get() {
            packed.mark_dirty();
        }
        Ok(())
    }

    /// Copies between two files without a trip through the caller.
    ///
    /// # Errors
    /// EXDEV across file systems; the kernel then copies by reading and writing.
    pub(crate) fn copy_file_range(
        &self,
        from: &FileHandle,
        mut offset_in: u64,
        to: &FileHandle,
        mut offset_out: u64,
        length: u64,
    ) -> Result<usize> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.ensure_opened(from)?;
        self.fetch_range(from, offset_in, length as u64)?;
        self.fetch_before_write(to)?;
        let copied = rustix::fs::copy_file_range(
            from.read_descriptor(),
            Some(&mut offset_in),
            &to.file,
            Some(&mut offset_out),
            length,
        )?;
        if let Some(packed) = to.node.packed.get() {
            packed.mark_dirty();
        }
        Ok(copied)
    }
}

/// Writes all of `data` by `write`; tells how much was written, and what kept the rest.
pub(super) fn write_all_at(
    data: &[u8],
    offset: u64,
    mut write: impl FnMut(&[u8], u64) -> Result<usize>,
) -> (usize, Result<()>) {
    let mut done = 0;
    while done < data.len() {
        match write(&data[done..], offset + done as u64) {
            Ok(0) => return (done, Err(Errno::NOSPC)),
            Ok(count) => done += count,
            Err(Errno::INTR) => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
}

/// close(2) with its error, which `OwnedFd` would swallow.
fn close_reporting(fd: OwnedFd) -> Result<()> {
    use std::os::fd::IntoRawFd;
    // SAFETY: the descriptor is ours and is not used afterwards, whatever close says.
    let done = unsafe { libc::close(fd.into_raw_fd()) };
    match done {
        0 => Ok(()),
        _ => match Errno::from_io_error(&std::io::Error::last_os_error()) {
            // The descriptor is gone all the same (close(2), "Dealing with error returns").
            None | Some(Errno::INTR) => Ok(()),
            Some(error) => Err(error),
        },
    }
}
