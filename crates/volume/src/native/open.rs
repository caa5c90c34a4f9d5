//! Open files: opening in one of three ways, reading, writing, and all that goes with a handle.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use forebay_model::TreeId;
use parking_lot::Mutex;
use rustix::fs::{Access, AtFlags, CWD, FallocateFlags, Mode, OFlags, Statx, accessat, openat};
use rustix::io::Errno;

use super::iostate::{Fresh, Wish};
use super::{
    Handle, Identity, IoState, Native, Node, Result, device_of, proc_path, reopen, stat_of,
};
use crate::creds::worn;
use crate::tiers::Lent;

/// What an open gives.
#[derive(Debug)]
pub struct Opened {
    /// The number in later requests.
    pub fh: u64,
    /// How data will flow.
    pub state: IoState,
    /// Registration number of the lent file, in passthrough.
    pub backing_id: Option<i32>,
    /// Pages cached by an earlier open are still right.
    pub keep_cache: bool,
    /// Closes need not be told.
    pub quiet_close: bool,
    /// Size in bytes when opened.
    pub size: u64,
    /// The tier from whose copy it is read.
    pub tier: Option<TreeId>,
}

/// The open flags that concern the backing file. `O_DIRECT` stays with the kernel's own open in
/// passthrough; our buffers have not the alignment that it asks for.
pub(crate) fn backing_flags(flags: u32) -> OFlags {
    let keep = libc::O_ACCMODE | libc::O_APPEND | libc::O_DSYNC | libc::O_SYNC | libc::O_NOATIME;
    OFlags::from_bits_retain(flags & keep as u32) | OFlags::CLOEXEC | OFlags::NONBLOCK
}

/// Set in the flags of an open(2) that execve(2) makes (`__FMODE_EXEC`); open(2) itself takes no such.
pub(super) const EXEC: u32 = 0x20;

pub(super) fn writes(flags: u32) -> bool {
    flags & libc::O_ACCMODE as u32 != libc::O_RDONLY as u32
}

/// User and group of somebody other than root who may write a file, if anybody may.
fn other_writer(stat: &Statx) -> Option<(u32, u32)> {
    const NOBODY: u32 = 65_534;
    let by_others = u32::from(stat.stx_mode) & 0o022 != 0;
    match stat.stx_uid {
        0 => by_others.then_some((NOBODY, NOBODY)),
        owner => Some((owner, stat.stx_gid)),
    }
}

impl Native {
    /// Opens a file.
    ///
    /// # Errors
    /// ESTALE when the name now leads to another file (the kernel then looks it up again), and
    /// the backing file system's, as the caller.
    pub(super) fn open_now(&self, id: u64, flags: u32) -> Result<(Opened, Arc<Node>)> {
        let node = self.node(id)?;
        if let Some(packed) = node.packed.get() {
            let opened = self.open_packed(&node, packed, flags)?;
            if writes(flags) {
                self.opened_anew(&node, None);
            }
            return Ok((opened, node));
        }
        self.disturb(&node);
        if writes(flags) {
            self.begins_to_write();
        }
        let _opening = self.opening();
        let file = match self.open_backing(&node, backing_flags(flags)) {
            Err(Errno::ACCESS) if flags & EXEC != 0 => self.open_program(&node)?,
            other => other?,
        };
        let mut stat = stat_of(file.as_fd(), c"")?;
        self.as_long_as_shown(&mut stat);
        let in_the_way = |copy: &Lent| writes(flags) || !copy.is_held() && !copy.is_of(&stat);
        self.await_closes(&node, in_the_way);
        let opened = self.opened(&node, file, flags, &stat)?;
        self.opened_anew(&node, Some(&stat).filter(|_| !writes(flags)));
        Ok((opened, node))
    }

    /// Opens a program that the caller may execute and not read (mode 0711): its bytes go to the
    /// kernel, which runs it.
    fn open_program(&self, node: &Arc<Node>) -> Result<OwnedFd> {
        let held = self.open_backing(node, OFlags::PATH | OFlags::CLOEXEC)?;
        accessat(CWD, proc_path(held.as_fd()), Access::EXEC_OK, AtFlags::EACCESS)?;
        self.wardrobe.undressed(|| self.with_room(|| reopen(held.as_fd(), backing_flags(0))))
    }

    fn open_backing(&self, node: &Arc<Node>, flags: OFlags) -> Result<OwnedFd> {
        if let Some(pin) = node.place.lock().pin.clone() {
            return self.with_room(|| reopen(pin.as_fd(), flags));
        }
        let opened = match node.placed.get() {
            Some(placed) => self.open_placed(node, &placed, flags),
            None => self.open_by_name(node, flags),
        };
        match opened {
            // Its name leads elsewhere (ELOOP: to a symbolic link), but somebody may still hold it.
            Err(Errno::STALE | Errno::NOENT | Errno::LOOP) => {
                let held = self.held_without_name(node)?;
                self.with_room(|| reopen(held.as_fd(), flags))
            }
            other => other,
        }
    }

    fn open_by_name(&self, node: &Arc<Node>, flags: OFlags) -> Result<OwnedFd> {
        let (parent, name) = node.name().ok_or(Errno::STALE)?;
        let dir = self.dir_fd(parent)?;
        let how = flags | OFlags::NOFOLLOW;
        let file = self.with_room(|| openat(&dir, &name, how, Mode::empty()))?;
        match Identity::of(&stat_of(file.as_fd(), c"")?) == node.identity() {
            true => Ok(file),
            false => Err(Errno::STALE),
        }
    }

    /// Decides how the data of a freshly opened file flow, and keeps the handle.
    ///
    /// # Errors
    /// ETXTBSY as [`Native::source`] says.
    pub(crate) fn opened(
        &self,
        node: &Arc<Node>,
        file: OwnedFd,
        flags: u32,
        stat: &Statx,
    ) -> Result<Opened> {
        let body = self.body_of(stat, file.as_fd())?;
        let face = self.face_of(stat);
        let mut open = node.open.lock();
        open.moving.take().iter().for_each(|ticket| ticket.end());
        let copy = self.source(node, &mut open, flags, &file, stat)?;
        let (bytes, from) = copy.as_ref().map_or((&file, stat), |copy| (&copy.file, &copy.stat));
        let wish = Wish {
            passthrough: body.is_none()
                && face.is_none()
                && self.may_pass(from)
                && (copy.is_none() || !node.written.load(Relaxed))
                && node.packed.get().is_none_or(|packed| packed.has_body()),
            every_read: self.settings.every_read,
            write: writes(flags),
            foreign: node.foreign.load(Relaxed),
        };
        let mut state = open.shared.enter(wish.state());
        if state == IoState::Passthrough && open.backing.is_none() {
            match self.lend(bytes, from) {
                Some(backing) => open.backing = Some(Arc::new(backing)),
                None => {
                    let other = Wish { passthrough: false, ..wish }.state();
                    open.shared.fall_back(other);
                    state = other;
                }
            }
        }
        let backing_id = (state == IoState::Passthrough)
            .then(|| open.backing.as_ref().map(|backing| backing.id))
            .flatten();
        let mut keep_cache = false;
        if state == IoState::Cached {
            let fresh = Fresh::of(stat);
            keep_cache = fresh.is_some() && open.fresh == fresh;
            open.fresh = fresh;
        } else {
            open.fresh = None;
        }
        // Byte-range locks end with a close, and network storage tells of failures then. Who only
        // reads, or only writes, seldom locks; locks that outlive such a process are swept
        // (`PosixLocks::sweep`). An output that many short processes inherit is closed by each.
        let one_way = match flags & libc::O_ACCMODE as u32 {
            mode if mode == libc::O_RDONLY as u32 => true,
            mode => mode == libc::O_WRONLY as u32 && self.is_local(node),
        };
        let quiet_close = one_way && !node.locked.load(Relaxed);
        let tier = copy.as_ref().map(|copy| copy.tree);
        let handle = Arc::new(Handle {
            node: Arc::clone(node),
            file,
            copy,
            body,
            face,
            state,
            writes: wish.write,
            quiet: quiet_close,
            appends: AtomicBool::new(flags & libc::O_APPEND as u32 != 0),
            stamp: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec, stat.stx_size),
            flocked: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            lockers: Mutex::default(),
            heard: node.unreported.heard(),
            read_end: AtomicU64::new(0),
            write_end: AtomicU64::new(0),
            flow: Default::default(),
            record: Default::default(),
        });
        open.handles.push(Arc::clone(&handle));
        drop(open);
        let fh = self.fresh_handle();
        self.handles.lock().insert(fh, handle);
        let size = stat.stx_size;
        Ok(Opened { fh, state, backing_id, keep_cache, quiet_close, size, tier })
    }

    fn is_local(&self, node: &Node) -> bool {
        match (node.placed.get(), self.tiers()) {
            (Some(placed), Some(tiers)) => tiers.room(&placed).local,
            (None, Some(tiers)) if node.packed.get().is_some() => {
                tiers.pack_room().is_some_and(|room| room.local)
            }
            _ => self.local.load(Relaxed),
        }
    }

    fn may_pass(&self, stat: &Statx) -> bool {
        self.passthrough.load(Relaxed)
            && u32::from(stat.stx_mode) & libc::S_IFMT == libc::S_IFREG
            && !self.refused.lock().contains(&device_of(stat))
    }

    fn lend(&self, file: &OwnedFd, stat: &Statx) -> Option<crate::fuse::Backing> {
        let device = self.device.get()?;
        // The kernel writes with the rights of who lends, whoever has it open: another's write would
        // use blocks reserved for root, and leave set-user-id bits.
        let lent = match (worn().0, other_writer(stat)) {
            (0, Some(writer)) => {
                self.wardrobe.dressed(writer, || device.lend(file.as_fd())).ok()?
            }
            _ => device.lend(file.as_fd()),
        };
        match lent {
            Ok(backing) => Some(backing),
            Err(error) => {
                let errno = error.raw_os_error();
                if matches!(
                    errno,
                    Some(libc::EPERM | libc::EOPNOTSUPP | libc::ELOOP | libc::EINVAL)
                ) {
                    // The whole file system refuses, not this file.
                    self.refused.lock().insert(device_of(stat));
                }
                None
            }
        }
    }

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
        if let Some(done) = self.decode(handle, buffer, offset) {
            return done;
        }
        self.settle_pages(handle);
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
            self.close_body(&handle);
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
        if from.face.is_some() {
            return Err(Errno::XDEV);
        }
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

impl Fresh {
    /// `None` when the file changed so recently that another change could leave the same times.
    fn of(stat: &Statx) -> Option<Fresh> {
        let ns = |t: &rustix::fs::StatxTimestamp| {
            i128::from(t.tv_sec) * 1_000_000_000 + i128::from(t.tv_nsec)
        };
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now_ns = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
        let changed_ns = ns(&stat.stx_ctime);
        // Time stamps advance in steps of up to 10 ms (CONFIG_HZ=100); twice that is safe.
        (now_ns - changed_ns > 20_000_000).then(|| Fresh {
            size: stat.stx_size,
            changed_ns,
            modified_ns: ns(&stat.stx_mtime),
        })
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
