//! Opening files, in one of three ways.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use forebay_model::TreeId;
use parking_lot::Mutex;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, Statx, accessat, openat};
use rustix::io::Errno;

use super::iostate::{CacheValidator, OpenConditions};
use super::node::HandleFile;
use super::{Backing, FileHandle, IoState, Native, Node, Result};
use crate::tiers::CopyLease;
use forebay_os::credentials::impersonated_ids;
use forebay_os::file_identity::{
    FileIdentity, device_number, proc_fd_path, reopen_with_flags, statx_nofollow,
};

/// What an open gives.
#[derive(Debug)]
pub struct OpenReply {
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

/// The same where the kernel collects writes: it fills the pages of which a program writes a part,
/// and chooses the offsets of appends.
fn collected_flags(flags: OFlags) -> OFlags {
    (flags - OFlags::ACCMODE - OFlags::APPEND) | OFlags::RDWR
}

/// Set in the flags of an open(2) that execve(2) makes (`__FMODE_EXEC`); open(2) itself takes no such.
pub(super) const EXEC: u32 = 0x20;

pub(super) fn opens_for_writing(flags: u32) -> bool {
    flags & libc::O_ACCMODE as u32 != libc::O_RDONLY as u32
}

/// User and group of somebody other than root who may write a file, if anybody may.
fn non_root_writer(stat: &Statx) -> Option<(u32, u32)> {
    const NOBODY: u32 = 65_534;
    let by_others = u32::from(stat.stx_mode) & 0o022 != 0;
    match stat.stx_uid {
        0 => by_others.then_some((NOBODY, NOBODY)),
        owner => Some((owner, stat.stx_gid)),
    }
}

fn with_stat(file: OwnedFd) -> Result<(OwnedFd, Statx)> {
    let stat = statx_nofollow(file.as_fd(), c"")?;
    Ok((file, stat))
}

impl Native {
    /// Opens a file.
    ///
    /// # Errors
    /// ESTALE when the name now leads to another file (the kernel then looks it up again), and
    /// the backing file system's, as the caller.
    pub(super) fn open_once(&self, id: u64, flags: u32) -> Result<(OpenReply, Arc<Node>)> {
        let node = self.node(id)?;
        if let Some(packed) = node.packed.get() {
            let opened = self.open_packed(&node, packed, flags)?;
            if opens_for_writing(flags) {
                self.invalidate_stale_attrs(&node, None);
            }
            return Ok((opened, node));
        }
        self.cancel_migration(&node);
        if opens_for_writing(flags) {
            self.backend.wait_for_room();
        }
        let _opening = self.pin_bytes_for_open();
        let by_path = self.opens_by_path(&node, flags);
        let how = match by_path {
            true => OFlags::PATH | OFlags::CLOEXEC,
            false => self.backing_open_flags(flags),
        };
        let (file, mut stat) = match self.open_backing(&node, how) {
            Err(Errno::ACCESS) if flags & EXEC != 0 => with_stat(self.open_executable(&node)?)?,
            // Who may only write, or only append, does so without the kernel's help.
            Err(Errno::ACCESS | Errno::PERM)
                if self.collects_writes() && opens_for_writing(flags) =>
            {
                self.open_backing(&node, backing_flags(flags))?
            }
            other => other?,
        };
        self.backend.apply_length(&mut stat);
        let in_the_way = |copy: &CopyLease| {
            opens_for_writing(flags) || !copy.is_held() && !copy.matches_original(&stat)
        };
        self.wait_for_closes(&node, in_the_way);
        let kind = if by_path { HandleFile::Path } else { HandleFile::Open };
        let opened = self.register_open_of(&node, (Arc::new(file), kind), flags, &stat)?;
        self.invalidate_stale_attrs(&node, Some(&stat).filter(|_| !opens_for_writing(flags)));
        Ok((opened, node))
    }

    /// The flags with which the file below is opened.
    pub(in crate::native) fn backing_open_flags(&self, flags: u32) -> OFlags {
        let asked = backing_flags(flags);
        if self.collects_writes() && opens_for_writing(flags) {
            collected_flags(asked)
        } else {
            asked
        }
    }

    /// Opens a program that the caller may execute and not read (mode 0711): its bytes go to the
    /// kernel, which runs it.
    fn open_executable(&self, node: &Arc<Node>) -> Result<OwnedFd> {
        let (held, _) = self.open_backing(node, OFlags::PATH | OFlags::CLOEXEC)?;
        accessat(CWD, proc_fd_path(held.as_fd()), Access::EXEC_OK, AtFlags::EACCESS)?;
        self.credentials.run_as_daemon(|| {
            self.with_free_descriptors(|| reopen_with_flags(held.as_fd(), backing_flags(0)))
        })
    }

    /// The file below, open, and what statx(2) says of it then.
    fn open_backing(&self, node: &Arc<Node>, flags: OFlags) -> Result<(OwnedFd, Statx)> {
        if let Some(pin) = node.place.lock().pin.clone() {
            return self
                .with_free_descriptors(|| reopen_with_flags(pin.as_fd(), flags))
                .and_then(with_stat);
        }
        let opened = match node.placed.get() {
            Some(placed) => self.open_data_file(node, &placed, flags).and_then(with_stat),
            None => self.open_by_name(node, flags),
        };
        match opened {
            // Its name leads elsewhere (ELOOP: to a symbolic link), but somebody may still hold it.
            Err(Errno::STALE | Errno::NOENT | Errno::LOOP) => {
                let held = self.pinned_descriptor(node)?;
                self.with_free_descriptors(|| reopen_with_flags(held.as_fd(), flags))
                    .and_then(with_stat)
            }
            other => other,
        }
    }

    fn open_by_name(&self, node: &Arc<Node>, flags: OFlags) -> Result<(OwnedFd, Statx)> {
        let (parent, name) = node.newest_name().ok_or(Errno::STALE)?;
        let dir = self.dir_fd(parent)?;
        let how = flags | OFlags::NOFOLLOW;
        let file = self.with_free_descriptors(|| openat(&dir, &name, how, Mode::empty()))?;
        let (file, stat) = with_stat(file)?;
        match FileIdentity::from_statx(&stat) == node.identity() {
            true => Ok((file, stat)),
            false => Err(Errno::STALE),
        }
    }

    /// Decides how the data of a freshly opened file flow, and keeps the handle.
    ///
    /// # Errors
    /// ETXTBSY as [`Native::lend_copy_for_open`] says.
    pub(crate) fn register_open(
        &self,
        node: &Arc<Node>,
        file: OwnedFd,
        flags: u32,
        stat: &Statx,
    ) -> Result<OpenReply> {
        self.register_open_of(node, (Arc::new(file), HandleFile::Open), flags, stat)
    }

    /// The same of a file that is not open, or not there.
    pub(super) fn register_open_of(
        &self,
        node: &Arc<Node>,
        (mut file, mut kind): (Arc<OwnedFd>, HandleFile),
        flags: u32,
        stat: &Statx,
    ) -> Result<OpenReply> {
        let source = self.open_source(&FileIdentity::from_statx(stat), file.as_fd())?;
        let mut open = node.open.lock();
        open.moving.take().iter().for_each(|ticket| ticket.cancel_migration());
        let copy = self.lend_copy_for_open(node, &mut open, flags, &file, stat)?;
        let (bytes, from) = copy.as_ref().map_or((&*file, stat), |copy| (&copy.file, &copy.stat));
        let below = match self.collects_writes() {
            true => rustix::fs::fcntl_getfl(&file)?,
            false => backing_flags(flags),
        };
        let wish = OpenConditions {
            passthrough: source.is_none()
                && self.can_pass_through(from)
                && (copy.is_none() || !node.written.load(Relaxed))
                && node.packed.get().is_none_or(|packed| packed.has_own_data_file()),
            every_read: self.settings.every_read,
            write: opens_for_writing(flags),
            collects: self.collects_writes() && below & OFlags::ACCMODE == OFlags::RDWR,
            foreign: node.foreign.load(Relaxed),
        };
        let mut state = open.shared.add_open(wish.initial_state());
        if state == IoState::Passthrough && open.backing.is_none() {
            match self.register_backing_file(bytes, from) {
                Some(backing) => {
                    open.backing = Some(Arc::from(backing));
                    open.lent_for = Some(impersonated_ids().0);
                }
                None => {
                    let other = OpenConditions { passthrough: false, ..wish }.initial_state();
                    open.shared.fall_back_to(other);
                    state = other;
                }
            }
        }
        // Others are let in by the storage below, which may know more than modes and lists.
        if kind == HandleFile::Path
            && (state != IoState::Passthrough || open.lent_for != Some(impersonated_ids().0))
        {
            match self.reopen_by_path(&file, flags) {
                Ok(open) => (file, kind) = (Arc::new(open), HandleFile::Open),
                Err(error) => {
                    open.shared.remove_open();
                    return Err(error);
                }
            }
        }
        let backing_id = (state == IoState::Passthrough)
            .then(|| open.backing.as_ref().map(|backing| backing.id()))
            .flatten();
        let mut keep_cache = false;
        if state == IoState::Cached {
            let fresh = CacheValidator::try_from_stat(stat);
            // What the kernel has collected of an open file is newer than the file.
            let collected = self.collects_writes() && !open.handles.is_empty();
            keep_cache = collected || fresh.is_some() && open.fresh == fresh;
            open.fresh = fresh;
        } else {
            open.fresh = None;
        }
        // Byte-range locks end with a close, and network storage tells of failures then. Who only
        // reads, or only writes, seldom locks; locks that outlive such a process are swept
        // (`PosixLocks::drop_dead_owner_locks`). An output that many short processes inherit is
        // closed by each.
        let one_way = match flags & libc::O_ACCMODE as u32 {
            mode if mode == libc::O_RDONLY as u32 => true,
            mode => mode == libc::O_WRONLY as u32 && self.is_on_local_storage(node),
        };
        let quiet_close = one_way && !node.locked.load(Relaxed);
        let tier = copy.as_ref().map(|copy| copy.tree);
        let handle = Arc::new(FileHandle {
            node: Arc::clone(node),
            file,
            kind,
            opened: OnceLock::new(),
            copy,
            source,
            state,
            writes: wish.write,
            quiet: quiet_close,
            appends: AtomicBool::new(below.contains(OFlags::APPEND)),
            syncs: flags & (libc::O_SYNC | libc::O_DSYNC) as u32 != 0,
            lacks_capabilities: AtomicBool::new(flags & libc::O_CREAT as u32 != 0),
            stamp: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec, stat.stx_size),
            flocked: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            lockers: Mutex::default(),
            heard: node.unreported.heard_at_open(),
            read_end: AtomicU64::new(0),
            write_end: AtomicU64::new(0),
            flow: Default::default(),
            record: Default::default(),
        });
        open.handles.push(Arc::clone(&handle));
        drop(open);
        let fh = self.allocate_handle();
        self.handles.lock().insert(fh, handle);
        let size = stat.stx_size;
        Ok(OpenReply { fh, state, backing_id, keep_cache, quiet_close, size, tier })
    }

    fn is_on_local_storage(&self, node: &Node) -> bool {
        match (node.placed.get(), self.tiers()) {
            (Some(placed), Some(tiers)) => tiers.tier_directory(&placed).local,
            (None, Some(tiers)) if node.packed.get().is_some() => {
                tiers.pack_tier_directory().is_some_and(|room| room.local)
            }
            _ => self.is_local(),
        }
    }

    fn can_pass_through(&self, stat: &Statx) -> bool {
        self.passthrough.load(Relaxed)
            && u32::from(stat.stx_mode) & libc::S_IFMT == libc::S_IFREG
            && !self.refused.lock().contains(&device_number(stat))
    }

    fn register_backing_file(&self, file: &OwnedFd, stat: &Statx) -> Option<Box<dyn Backing>> {
        let device = self.device.get()?;
        // The kernel writes with the rights of who lends, whoever has it open: another's write would
        // use blocks reserved for root, and leave set-user-id bits.
        let lent = match (impersonated_ids().0, non_root_writer(stat)) {
            (0, Some(writer)) => self
                .credentials
                .run_as_user(writer, || device.register_backing(file.as_fd()))
                .ok()?,
            _ => device.register_backing(file.as_fd()),
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
                    self.refused.lock().insert(device_number(stat));
                }
                None
            }
        }
    }
}

impl CacheValidator {
    /// `None` when the file changed so recently that another change could leave the same times.
    fn try_from_stat(stat: &Statx) -> Option<CacheValidator> {
        let ns = |t: &rustix::fs::StatxTimestamp| {
            i128::from(t.tv_sec) * 1_000_000_000 + i128::from(t.tv_nsec)
        };
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let now_ns = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
        let changed_ns = ns(&stat.stx_ctime);
        // Time stamps advance in steps of up to 10 ms (CONFIG_HZ=100); twice that is safe.
        (now_ns - changed_ns > 20_000_000).then(|| CacheValidator {
            size: stat.stx_size,
            changed_ns,
            modified_ns: ns(&stat.stx_mtime),
        })
    }
}
