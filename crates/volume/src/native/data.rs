//! Bytes of open files: reading, writing, and what a close has to tell.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::fs::{FallocateFlags, OFlags};
use rustix::io::Errno;

use super::{Handle, IoState, Native, Result};
use forebay_os::files::{reopen, stat_of};

impl Native {
    /// Reads into `buffer` at `offset`; returns how much there was. `keeps`: the kernel keeps it
    /// as pages, for mappings or its cache.
    ///
    /// # Errors
    /// The backing file system's.
    pub(crate) fn read(
        &self,
        handle: &Handle,
        buffer: &mut [u8],
        offset: u64,
        keeps: bool,
    ) -> Result<usize> {
        if let Some(done) = self.read_elsewhere(handle, offset, buffer) {
            return done;
        }
        self.settle_pages(handle);
        self.open_file(handle)?;
        let shared = handle.state == IoState::Direct && handle.node.locked.load(Relaxed);
        self.bring(handle, offset, buffer.len() as u64)?;
        let done = Native::read_bytes(handle, buffer, offset)?;
        if shared && keeps {
            self.pages.filled(handle.node.id, offset, &buffer[..done]);
        }
        Ok(done)
    }

    /// Bytes of a mapping that are held back go into the file before anything else happens to it.
    pub(crate) fn settle_pages(&self, handle: &Handle) {
        if handle.state == IoState::Direct && handle.node.locked.load(Relaxed) {
            self.pages.settle(handle.node.id);
        }
    }

    fn read_bytes(handle: &Handle, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match rustix::io::pread(handle.bytes(), &mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
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
    pub(crate) fn follow_append(&self, handle: &Handle, flags: u32) -> Result<()> {
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
    pub(crate) fn write(&self, handle: &Handle, data: &[u8], offset: u64) -> Result<usize> {
        self.settle_pages(handle);
        handle.report_error()?;
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
        handle: &Arc<Handle>,
        data: &[u8],
        offset: u64,
    ) -> Result<usize> {
        if handle.appends.load(Relaxed) {
            let file = reopen(handle.file.as_fd(), OFlags::WRONLY | OFlags::NONBLOCK)?;
            return self.write_through(&file, handle, data, offset)?.1.map(|()| data.len());
        }
        if !handle.node.locked.load(Relaxed) {
            return self.write_through(&handle.file, handle, data, offset)?.1.map(|()| data.len());
        }
        for (at, bytes) in self.pages.changed(handle, offset, data) {
            let wrote = self.write_through(&handle.file, handle, &bytes, at);
            if let Err(error) = wrote.and_then(|(_, rest)| rest) {
                self.pages.failed(handle.node.id, at);
                return Err(error);
            }
        }
        Ok(data.len())
    }

    fn write_through(
        &self,
        file: &OwnedFd,
        handle: &Handle,
        data: &[u8],
        offset: u64,
    ) -> Result<(usize, Result<()>)> {
        self.bring_all(handle)?;
        let write = |data: &[u8], at| rustix::io::pwrite(file, data, at);
        let (done, rest) = write_whole(data, offset, write);
        if let Some(packed) = handle.node.packed.get() {
            packed.wrote();
            self.sync_if_asked(handle, packed)?;
        }
        if handle.state == IoState::Cached {
            self.check_append(handle, offset + done as u64);
        }
        Ok((done, rest))
    }

    /// In the cached state the kernel chose the offset of an append; if somebody outside had
    /// appended meanwhile, its pages are wrong and must go.
    fn check_append(&self, handle: &Handle, expected_end: u64) {
        if !handle.appends.load(Relaxed) {
            return;
        }
        let moved =
            stat_of(handle.file.as_fd(), c"").is_ok_and(|stat| stat.stx_size != expected_end);
        if let (true, Some(watch)) = (moved, self.watch.get()) {
            // From another thread: the writer's lock on the inode is held until we answer.
            watch.invalidate(handle.node.id);
        }
    }

    /// A copy of the descriptor was closed: `owner`'s byte-range locks on the file end.
    ///
    /// # Errors
    /// What closing a copy of the backing file reports (EIO, EDQUOT, ENOSPC on network storage), and
    /// that of a write that nobody waited for.
    pub(crate) fn flush(&self, handle: &Handle, owner: u64) -> Result<()> {
        if handle.flocked.load(Relaxed) {
            handle.closing.store(true, Relaxed);
        }
        self.end_locks_of(handle, owner);
        self.settle_pages(handle);
        let written = handle.report_error();
        if !handle.writes {
            return written;
        }
        // Network file systems send what is left, and tell of failures, on close.
        let copy = rustix::io::fcntl_dupfd_cloexec(&handle.file, 0)?;
        close_reporting(copy).and(written)
    }

    /// The last copy of a descriptor is closed. Returns the handle, for the record.
    pub(crate) fn release(&self, fh: u64) -> Option<Arc<Handle>> {
        let handle = self.handles.lock().remove(&fh)?;
        let node = Arc::clone(&handle.node);
        handle.end_flock();
        self.charge(&handle);
        let mut open = node.open.lock();
        open.handles.retain(|other| !Arc::ptr_eq(other, &handle));
        self.end_locks_left(&handle, &open.handles);
        let last = open.shared.leave();
        if last {
            open.backing = None;
            open.copy = None;
        }
        drop(open);
        if last {
            self.close_source(&handle);
            self.pages.forget(node.id);
            self.after_last_close(&handle);
            self.may_belong_elsewhere(&node);
        }
        self.closed_packed(&node);
        if handle.writes {
            self.may_go_early(&node);
            self.mark_written(&handle);
        }
        Some(handle)
    }

    /// Reserves or gives back space.
    ///
    /// # Errors
    /// EOPNOTSUPP where the backing file system can't, ENOSPC, EFBIG.
    pub(crate) fn fallocate(
        &self,
        handle: &Handle,
        mode: u32,
        offset: u64,
        length: u64,
    ) -> Result<()> {
        self.bring_all(handle)?;
        rustix::fs::fallocate(
            &handle.file,
            FallocateFlags::from_bits_retain(mode),
            offset,
            length,
        )?;
        if let Some(packed) = handle.node.packed.get() {
            packed.wrote();
        }
        Ok(())
    }

    /// Copies between two files without a trip through the caller.
    ///
    /// # Errors
    /// EXDEV across file systems; the kernel then copies by reading and writing.
    pub(crate) fn copy_range(
        &self,
        from: &Handle,
        mut offset_in: u64,
        to: &Handle,
        mut offset_out: u64,
        length: u64,
    ) -> Result<usize> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.open_file(from)?;
        self.bring(from, offset_in, length as u64)?;
        self.bring_all(to)?;
        let copied = rustix::fs::copy_file_range(
            from.bytes(),
            Some(&mut offset_in),
            &to.file,
            Some(&mut offset_out),
            length,
        )?;
        if let Some(packed) = to.node.packed.get() {
            packed.wrote();
        }
        Ok(copied)
    }
}

/// Writes all of `data` by `write`; tells how much was written, and what kept the rest.
pub(super) fn write_whole(
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
