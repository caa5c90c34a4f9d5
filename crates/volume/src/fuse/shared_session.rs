//! A mount of a volume that several nodes write: requests of the kernel become verbs of a
//! [`SharedNode`]. It translates, and decides nothing.

mod file_requests;
mod lock_requests;
mod name_requests;

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, Scope};

use forebay_book::{EntryName, FileKind, FolderId, InodeNumber};
use forebay_model::{AccessPattern, Op, OpCount, OpKey};
use forebay_os::clock::Clock;
use forebay_os::fast_wake::FastWake;
use forebay_sharing::{KernelCaches, ListedName, MachineTime, Seen, SharedNode};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::fs::FileType;
use rustix::io::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use lock_requests::{LockWaits, LockingHandles};

use super::abi::{self, Attr, EntryOut, InHeader, init, op};
use super::device::Device;
use super::failed::failure_name;
use super::session::{BUFFER, MOST_BYTES};
use crate::native::{Kernel, Result};
use crate::recorder::Recorder;

/// The first minor version of the protocol by which all names can be made to be asked for again
/// (Linux 6.16).
const FORGETS_ALL_NAMES: u32 = 44;
/// Sums do not tell one order of reads from another.
const UNKNOWN_ORDER: AccessPattern = AccessPattern::Random;

/// Who may use a mount, and what its requests are noted with.
#[derive(Debug)]
pub(crate) struct SharedAccess {
    /// Others than this user and root are refused.
    pub(crate) only_for: Option<u32>,
    /// Keeps CPUs awake while requests follow each other.
    pub(crate) fast_wake: Option<Arc<FastWake>>,
    /// Counts requests.
    pub(crate) recorder: Arc<Recorder>,
}

/// A served mount.
#[derive(Debug)]
pub(crate) struct SharedSession {
    node: Arc<SharedNode>,
    device: Device,
    access: SharedAccess,
    /// On the disk that has the bytes of long files.
    disk: PathBuf,
    /// Of files that the kernel knows, the object from which it may have bytes.
    cached_objects: Mutex<FxHashMap<InodeNumber, String>>,
    /// Open folders, and what is listed of them.
    listings: Mutex<FxHashMap<u64, Arc<Vec<ListedName>>>>,
    /// For open folders and files.
    next_handle: AtomicU64,
    lock_waits: LockWaits,
    locking_handles: LockingHandles,
}

/// Makes the kernel forget.
#[derive(Debug)]
struct KernelMemory {
    device: Device,
    can_forget: bool,
}

impl KernelCaches for KernelMemory {
    fn can_forget(&self) -> bool {
        self.can_forget
    }

    fn forget(&self, files: &[InodeNumber]) {
        for file in files {
            self.device.invalidate_node(file.0.cast_unsigned(), false);
        }
        self.device.expire_all_names();
    }

    fn forget_file(&self, file: InodeNumber, bytes: bool) {
        self.device.invalidate_node(file.0.cast_unsigned(), bytes);
    }

    fn drop_names(&self, folder: FolderId, names: &[EntryName]) {
        for name in names {
            let name = std::os::unix::ffi::OsStrExt::from_bytes(name.as_bytes());
            self.device.invalidate_entry(folder.0.cast_unsigned(), name);
        }
    }
}

/// Failures that no program expects leave a line in the log, so that somebody can find out why.
fn log_failure(header: &InHeader, error: Errno) {
    let (opcode, file) = (header.opcode, header.nodeid);
    match error {
        Errno::IO => tracing::warn!("request {opcode} on file {file} failed: {error}"),
        Errno::STALE => tracing::debug!("request {opcode} on file {file} failed: {error}"),
        _ => {}
    }
}

/// A request, and where it came from.
struct Asked<'a> {
    header: &'a InHeader,
    body: &'a [u8],
    device: &'a Device,
    /// Bytes that were read or written.
    moved: Cell<u64>,
}

impl<'a> Asked<'a> {
    fn parse<T: FromBytes + KnownLayout + Immutable>(&self) -> Result<(&'a T, &'a [u8])> {
        T::ref_from_prefix(self.body).map_err(|_| Errno::INVAL)
    }

    fn file(&self) -> InodeNumber {
        InodeNumber(self.header.nodeid.cast_signed())
    }

    fn folder(&self) -> FolderId {
        FolderId(self.header.nodeid.cast_signed())
    }

    fn reply(&self, parts: &[&[u8]]) -> Result<()> {
        self.device.send_reply(self.header.unique, parts);
        Ok(())
    }
}

/// How many threads there are, and how many wait for a request.
#[derive(Debug)]
struct Crew {
    all: AtomicUsize,
    idle: AtomicUsize,
    most: usize,
}

impl SharedSession {
    /// Shakes hands with the kernel over a `/dev/fuse` descriptor that is already mounted.
    ///
    /// # Errors
    /// When the kernel speaks a protocol older than 7.31 (Linux 5.4), or the mount is gone.
    pub(crate) fn from_handshake(
        node: Arc<SharedNode>,
        device: Device,
        access: SharedAccess,
        disk: PathBuf,
    ) -> io::Result<Arc<SharedSession>> {
        let mut buffer = vec![0; BUFFER];
        let size = device
            .receive_request(&mut buffer)?
            .ok_or_else(|| io::Error::other("the mount was gone before it began"))?;
        let (header, body) = InHeader::ref_from_prefix(&buffer[..size])
            .map_err(|_| io::Error::other("the kernel's first request is cut off"))?;
        let mut hello = abi::InitIn::default();
        let known = body.len().min(size_of::<abi::InitIn>());
        hello.as_mut_bytes()[..known].copy_from_slice(&body[..known]);
        if header.opcode != op::INIT || hello.major != 7 || hello.minor < abi::OLDEST_MINOR {
            device.send_error(header.unique, Errno::PROTO);
            let (major, minor) = (hello.major, hello.minor);
            return Err(io::Error::other(format!("the kernel speaks FUSE {major}.{minor}")));
        }
        let offered = u64::from(hello.flags) | (u64::from(hello.flags2) << 32);
        let wanted = init::ASYNC_READ
            | init::POSIX_LOCKS
            | init::FLOCK_LOCKS
            | init::BIG_WRITES
            | init::DONT_MASK
            | init::AUTO_INVAL_DATA
            | init::PARALLEL_DIROPS
            | init::MAX_PAGES
            // Else it would ask for the capabilities of a file before each write.
            | init::HANDLE_KILLPRIV_V2
            | init::CACHE_SYMLINKS;
        let agreed = wanted & offered;
        let answer = abi::InitOut {
            major: abi::VERSION.0,
            minor: abi::VERSION.1,
            max_readahead: hello.max_readahead,
            flags: agreed as u32,
            flags2: (agreed >> 32) as u32,
            max_background: 64,
            congestion_threshold: 48,
            max_write: MOST_BYTES as u32,
            time_gran: 1,
            max_pages: (MOST_BYTES / 4096) as u16,
            ..Default::default()
        };
        device.send_reply(header.unique, &[answer.as_bytes()]);
        let can_forget = hello.minor >= FORGETS_ALL_NAMES;
        node.set_caches(Arc::new(KernelMemory { device: device.clone(), can_forget }));
        Ok(Arc::new(SharedSession {
            node,
            device,
            access,
            disk,
            cached_objects: Mutex::default(),
            listings: Mutex::default(),
            next_handle: AtomicU64::new(1),
            lock_waits: LockWaits::default(),
            locking_handles: LockingHandles::default(),
        }))
    }

    /// Serves until the mount is gone, on `threads` threads, and on up to `most` where all of these
    /// wait for other nodes.
    ///
    /// # Errors
    /// When the device fails otherwise than by the end of the mount.
    pub(crate) fn serve_requests(
        self: &Arc<SharedSession>,
        threads: usize,
        most: usize,
    ) -> io::Result<()> {
        let crew = Crew { all: AtomicUsize::new(threads), idle: AtomicUsize::new(0), most };
        let crew = &crew;
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for number in 0..threads {
                let device = match number {
                    0 => self.device.clone(),
                    _ => self.device.another_reader().unwrap_or_else(|_| self.device.clone()),
                };
                let work = move || self.run_worker(&device, crew, scope);
                let name = format!("forebay-{number}");
                workers.push(Builder::new().name(name).spawn_scoped(scope, work)?);
            }
            for worker in workers {
                worker.join().map_err(|_| io::Error::other("a worker thread panicked"))??;
            }
            Ok(())
        })
    }

    fn run_worker<'scope>(
        self: &'scope Arc<SharedSession>,
        device: &Device,
        crew: &'scope Crew,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        loop {
            crew.idle.fetch_add(1, Relaxed);
            let received = device.receive_request(&mut buffer);
            let was_last = crew.idle.fetch_sub(1, Relaxed) == 1;
            let Some(size) = received? else { return Ok(()) };
            if was_last {
                self.add_worker(crew, scope);
            }
            let Ok((header, body)) = InHeader::ref_from_prefix(&buffer[..size]) else {
                return Err(io::Error::other("the kernel's request is cut off"));
            };
            if header.opcode == op::DESTROY {
                device.send_reply(header.unique, &[]);
                return Ok(());
            }
            let began = MachineTime.elapsed_nanos();
            if let Some(wake) = &self.access.fast_wake {
                wake.count_request(began);
            }
            // A fault of ours must cost one request, not leave its caller waiting for ever.
            let asked = Asked { header, body, device, moved: Cell::new(0) };
            let served = catch_unwind(AssertUnwindSafe(|| self.serve(&asked)));
            let served = served.unwrap_or(Err(Errno::IO));
            self.count_request(&asked, began, served.err());
            if let Err(error) = served {
                log_failure(header, error);
                device.send_error(header.unique, error);
            }
        }
    }

    /// Adds a request to the sums of the daemon. One that waits for a lock is none: its time is that
    /// of another program.
    fn count_request(&self, asked: &Asked<'_>, began: u64, error: Option<Errno>) {
        let op = match asked.header.opcode {
            op::FORGET | op::BATCH_FORGET | op::INTERRUPT | op::SETLKW => return,
            op::READ => Op::Read,
            op::WRITE => Op::Write,
            op::FSYNC | op::FSYNCDIR | op::SYNCFS => Op::Fsync,
            // Sums know names and attributes as one group.
            _ => Op::Getattr,
        };
        let (bytes, nanos) = (asked.moved.get(), MachineTime.elapsed_nanos().saturating_sub(began));
        let count = OpCount { count: 1, nanos, bytes, failed: u64::from(error.is_some()) };
        let (recorder, key) = (&self.access.recorder, OpKey::with_bytes(op, bytes, UNKNOWN_ORDER));
        recorder.live_counters().count_operation(key, &count);
        if let Some((error, name)) = error.and_then(|error| Some((error, failure_name(error)?))) {
            let at = (error != Errno::STALE).then(|| recorder.clock().now());
            recorder.live_counters().count_failure(name, at);
        }
    }

    /// Nobody waits for the next request: another thread does from now on.
    fn add_worker<'scope>(
        self: &'scope Arc<SharedSession>,
        crew: &'scope Crew,
        scope: &'scope Scope<'scope, '_>,
    ) {
        let next = |all| (all < crew.most).then_some(all + 1);
        let Ok(number) = crew.all.fetch_update(Relaxed, Relaxed, next) else { return };
        let work = move || {
            if let Err(error) = self.run_worker(&self.device, crew, scope) {
                tracing::error!("a thread of a mount ended badly: {error}");
            }
        };
        // Without it, requests are served as before.
        if Builder::new().name(format!("forebay-{number}")).spawn_scoped(scope, work).is_err() {
            crew.all.fetch_sub(1, Relaxed);
        }
    }

    fn serve(self: &Arc<SharedSession>, asked: &Asked<'_>) -> Result<()> {
        let header = asked.header;
        match header.opcode {
            op::FORGET => {
                if let Ok((forget, _)) = asked.parse::<abi::ForgetIn>() {
                    self.forget(asked.file(), forget.nlookup);
                }
                return Ok(());
            }
            op::BATCH_FORGET => return self.forget_many(asked),
            op::INTERRUPT => {
                self.lock_waits.interrupt(asked.body);
                return Ok(());
            }
            _ => {}
        }
        // What acts through an open file may come from whomever it was handed to.
        let by_handle = matches!(
            header.opcode,
            op::READ
                | op::WRITE
                | op::FLUSH
                | op::RELEASE
                | op::RELEASEDIR
                | op::FSYNC
                | op::GETLK
                | op::SETLK
                | op::SETLKW
        );
        let is_welcome = self.access.only_for.is_none_or(|owner| [owner, 0].contains(&header.uid));
        if !is_welcome && !by_handle {
            return Err(Errno::ACCESS);
        }
        match header.opcode {
            op::LOOKUP => self.lookup(asked),
            op::GETATTR => self.getattr(asked),
            op::SETATTR => self.setattr(asked),
            op::READLINK => self.readlink(asked),
            op::MKNOD | op::MKDIR | op::SYMLINK => self.make(asked),
            op::LINK => self.link(asked),
            op::UNLINK | op::RMDIR => self.remove(asked),
            op::RENAME | op::RENAME2 => self.rename(asked),
            op::OPENDIR => self.opendir(asked),
            op::READDIR => self.readdir(asked),
            op::RELEASEDIR => self.releasedir(asked),
            op::SETXATTR | op::GETXATTR | op::LISTXATTR | op::REMOVEXATTR => self.extended(asked),
            op::CREATE => self.create(asked),
            op::OPEN => self.open(asked),
            op::READ => self.read(asked),
            op::WRITE => self.write(asked),
            op::FLUSH => self.flush(asked),
            op::RELEASE => self.release(asked),
            op::FSYNC => self.fsync(asked),
            op::FSYNCDIR | op::SYNCFS => {
                self.node.publish()?;
                asked.reply(&[])
            }
            op::STATFS => self.statfs(asked),
            op::GETLK => self.getlk(asked),
            op::SETLK => self.setlk(asked, false),
            op::SETLKW => self.setlk(asked, true),
            op::FALLOCATE => Err(Errno::OPNOTSUPP),
            op::IOCTL => Err(Errno::NOTTY),
            _ => Err(Errno::NOSYS),
        }
    }

    fn forget_many(&self, asked: &Asked<'_>) -> Result<()> {
        if let Ok((_, rest)) = asked.parse::<abi::BatchForgetIn>() {
            let whole = rest.len() / size_of::<abi::ForgetOne>() * size_of::<abi::ForgetOne>();
            let list = <[abi::ForgetOne]>::ref_from_bytes(&rest[..whole]);
            for one in list.into_iter().flatten() {
                self.forget(InodeNumber(one.nodeid.cast_signed()), one.nlookup);
            }
        }
        Ok(())
    }

    fn forget(&self, file: InodeNumber, lookups: u64) {
        // Without an inode the kernel has no bytes either; a file that is still known is read once more.
        self.cached_objects.lock().remove(&file);
        self.node.forget(file, lookups);
    }

    fn statfs(&self, asked: &Asked<'_>) -> Result<()> {
        let disk = rustix::fs::open(
            &self.disk,
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        let stat = rustix::fs::fstatvfs(disk.as_fd())?;
        asked.reply(&[super::reply::statfs_out(&stat).as_bytes()])
    }
}

/// File type and permission bits, as stat(2) has them.
fn mode_of(seen: &Seen) -> u32 {
    type_of(seen.kind).as_raw_mode() | seen.mode
}

fn type_of(kind: FileKind) -> FileType {
    match kind {
        FileKind::Regular => FileType::RegularFile,
        FileKind::Folder => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::Fifo => FileType::Fifo,
        FileKind::Socket => FileType::Socket,
        FileKind::CharacterDevice => FileType::CharacterDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
    }
}

fn attr_of(seen: &Seen) -> Attr {
    let time = |nanos: i64| {
        (nanos.div_euclid(1_000_000_000).cast_unsigned(), nanos.rem_euclid(1_000_000_000) as u32)
    };
    let (atime, atimensec) = time(seen.atime_ns);
    let (mtime, mtimensec) = time(seen.mtime_ns);
    let (ctime, ctimensec) = time(seen.ctime_ns);
    Attr {
        ino: seen.file.0.cast_unsigned(),
        size: seen.size,
        blocks: seen.size.div_ceil(512),
        atime,
        mtime,
        ctime,
        atimensec,
        mtimensec,
        ctimensec,
        mode: mode_of(seen),
        nlink: seen.links,
        uid: seen.uid,
        gid: seen.gid,
        rdev: seen.rdev as u32,
        blksize: 4096,
        flags: 0,
    }
}

fn entry_of(seen: &Seen) -> EntryOut {
    EntryOut {
        nodeid: seen.file.0.cast_unsigned(),
        generation: 0,
        entry_valid: seen.name_trust.as_secs(),
        entry_valid_nsec: seen.name_trust.subsec_nanos(),
        attr_valid: seen.attribute_trust.as_secs(),
        attr_valid_nsec: seen.attribute_trust.subsec_nanos(),
        attr: attr_of(seen),
    }
}
