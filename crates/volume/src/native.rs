//! A directory in place: the verbs of POSIX on a covered directory, where the directory is the
//! truth. Names, inode numbers, permissions, locks and bytes are the backing file system's; this
//! room only finds the right file for a number and keeps the kernel's caches honest. It knows no
//! wire format (that is `fuse`) and records nothing (that is `recorder`).

mod attr;
mod attribute_override;
mod backend_calls;
mod by_path;
mod cached_reads;
mod create;
mod creator_task;
mod device_numbers;
mod dir;
mod dir_reader;
mod directory_cache;
mod directory_watch;
mod dormant;
mod eager_write_back;
mod file_io;
mod iostate;
mod kept_content;
mod kernel_interface;
mod lease;
mod locks;
mod lookup;
mod mapped_pages;
mod metadata_cache;
mod migration;
mod migration_queue;
mod migration_thread;
mod node;
mod node_table;
mod open;
mod packed;
mod packed_file;
mod packed_nodes;
mod recently_removed;
mod relocation_lock;
mod remove;
mod seek;
mod slot;
mod space_release;
mod sync;
#[cfg(test)]
mod tests;
mod ticket;
mod tiered_creation;
mod tiered_view;
mod unreported;
mod xattr;

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use forebay_os::credentials::{Caller, Credentials, Groups};
use forebay_os::file_identity::{FileIdentity, reopen_with_flags, statx_as_cached, statx_nofollow};
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::fs::{Mode, OFlags, Statx, openat};
use rustix::io::Errno;

pub use attr::{AttributeChange, TimeOrNow};
pub use create::{CreateMode, CreateReply};
pub(crate) use device_numbers::pack_device;
pub use dir_reader::DirEntry;
pub(crate) use directory_watch::DirectoryWatch;
pub(crate) use eager_write_back::start_eager_write_back;
pub use iostate::IoState;
pub(crate) use kernel_interface::{Backing, Kernel};
pub use locks::{AdvisoryLock, LockOutcome, PendingLock};
pub(crate) use node::{DirHandle, FileHandle, Node, ROOT};
pub use open::OpenReply;
use packed::leads_to_file;
pub(crate) use relocation_lock::RelocationReadGuard;
pub(crate) use tiered_view::ResolvedName;
use tiered_view::boot_nanos;

use crate::backend::{Backend, InPlace};
use crate::recorder::{RecordedFile, RecordedPath};
use crate::tiers::{StagingPath, Tiers};
use node::{HandleFile, RecordState};
use node_table::NodeTable;

/// What a verb can fail with: the backing file system's own word.
pub type Result<T> = std::result::Result<T, Errno>;

/// How long the kernel may trust what it was told without asking again, where nothing watches:
/// below one second, the promise in docs/semantics.
pub(crate) const TRUST: Duration = Duration::from_millis(900);
/// The same for names in a directory whose changes are watched.
pub(crate) const TRUST_WATCHED: Duration = Duration::from_secs(3600);
/// The same for names that are absent: shorter, since an overflowing watch can't name them.
pub(crate) const TRUST_ABSENT: Duration = Duration::from_secs(60);
/// Look-ups in a directory before a watch is worth its price.
const SEARCHES_BEFORE_WATCH: u64 = 3;

/// What a user may turn.
#[derive(Debug, Clone, Default)]
pub struct NativeSettings {
    /// Let no read or write bypass us.
    pub every_read: bool,
    /// Another user may reach the mount, so the kernel checks permissions too.
    pub shared: bool,
    /// The mount lies in a user namespace that knows one user and one group.
    pub one_user: bool,
    /// Files (device, inode) that somebody outside holds open for writing.
    pub foreign: Vec<(u64, u64)>,
}

/// What the kernel is told of a name or file.
#[derive(Debug)]
pub struct Entry {
    /// The node's number; 0 for a name known to be absent.
    pub node: u64,
    /// Attributes as the backing file system has them.
    pub stat: Statx,
    /// How long the name may be trusted.
    pub name_trust: Duration,
    /// How long the attributes may be trusted.
    pub attr_trust: Duration,
}

/// One covered directory.
pub struct Native {
    pub(crate) table: NodeTable,
    settings: NativeSettings,
    foreign: FxHashSet<(u64, u64)>,
    credentials: Credentials,
    groups: Box<dyn Fn(u32) -> Groups + Send + Sync>,
    handles: Mutex<FxHashMap<u64, Arc<FileHandle>>>,
    releases: space_release::PendingReleases,
    roomy: space_release::RoomyFileSystems,
    dirs: Mutex<FxHashMap<u64, Arc<DirHandle>>>,
    next_handle: AtomicU64,
    posix_locks: locks::PosixLocks,
    /// Mapped pages of locked files, without passthrough.
    pub(crate) pages: Arc<mapped_pages::MappedPages>,
    /// The connection, known once the mount is made.
    device: OnceLock<Arc<dyn Kernel>>,
    watch: OnceLock<DirectoryWatch>,
    /// Held by whoever makes or moves a name until the table knows of it.
    pub(crate) naming: RwLock<()>,
    /// Raised by each rename of a directory: paths computed before are void.
    pub(crate) renames: AtomicU64,
    /// File systems (by device) that refuse passthrough.
    refused: Mutex<FxHashSet<u64>>,
    /// The kernel agreed to passthrough at all.
    passthrough: AtomicBool,
    /// The kernel takes the way to a file that it is lent.
    lends_paths: AtomicBool,
    /// The kernel collects writes, and sizes and times of open files are for it to say.
    collects: AtomicBool,
    /// The backing file system is on this machine: closing a file tells nothing.
    local: AtomicBool,
    me: (u32, u32),
    my_groups: Vec<u32>,
    /// One thread at a time may wait for the kernel's directory locks (see [`Kernel`]).
    expelling: Mutex<()>,
    /// Workers that wait until closes are told (`native::cached_reads`).
    waiting: AtomicU32,
    /// What an earlier run made of packed files is safe in place; or could not be made so.
    landed_safe: OnceLock<bool>,
    /// Directories whose packed names changed since their times in place were set.
    touched: Mutex<Vec<Arc<Node>>>,
    early: eager_write_back::EagerWriteBack,
    /// Where rules send files.
    tiers: Option<Arc<Tiers>>,
    /// What keeps it beyond itself.
    backend: Arc<dyn Backend>,
    /// Files that wait to be moved there, and the way that they take.
    moves: Arc<migration_queue::MigrationQueue>,
    passage: OnceLock<StagingPath>,
    /// Held while that is opened.
    first_passage: Mutex<()>,
    /// Names that requests took away a moment ago.
    pub(crate) gone: recently_removed::RecentlyRemoved,
    /// Held by each request for what it names, while that must not move.
    pub(crate) still: relocation_lock::RelocationLock,
    /// Tells the task of a caller.
    tasks: Option<creator_task::TaskLookup>,
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Native").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Native {
    /// Takes the directory behind `root` (opened before anything covers it).
    ///
    /// `groups` tells a caller's supplementary groups.
    ///
    /// # Errors
    /// Those of statx(2) on `root`.
    pub fn new(
        root: OwnedFd,
        settings: NativeSettings,
        groups: Box<dyn Fn(u32) -> Groups + Send + Sync>,
    ) -> Result<Native> {
        let stat = statx_nofollow(root.as_fd(), c"")?;
        let foreign = settings.foreign.iter().copied().collect();
        let my_groups = rustix::process::getgroups()?.iter().map(|g| g.as_raw()).collect();
        Ok(Native {
            table: NodeTable::new(root, &stat),
            settings,
            foreign,
            credentials: Credentials::new(),
            groups,
            handles: Mutex::default(),
            releases: space_release::PendingReleases::default(),
            roomy: space_release::RoomyFileSystems::default(),
            dirs: Mutex::default(),
            next_handle: AtomicU64::new(1),
            posix_locks: locks::PosixLocks::default(),
            pages: Arc::default(),
            device: OnceLock::new(),
            watch: OnceLock::new(),
            naming: RwLock::new(()),
            renames: AtomicU64::new(0),
            refused: Mutex::default(),
            passthrough: AtomicBool::new(false),
            lends_paths: AtomicBool::new(false),
            collects: AtomicBool::new(false),
            local: AtomicBool::new(false),
            me: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
            my_groups,
            expelling: Mutex::new(()),
            waiting: AtomicU32::new(0),
            landed_safe: OnceLock::new(),
            touched: Mutex::default(),
            early: eager_write_back::EagerWriteBack::default(),
            tiers: None,
            backend: Arc::new(InPlace),
            moves: Arc::default(),
            passage: OnceLock::new(),
            first_passage: Mutex::new(()),
            gone: recently_removed::RecentlyRemoved::default(),
            still: relocation_lock::RelocationLock::default(),
            tasks: None,
        })
    }

    /// Tells the connection, once the kernel and we agreed on it.
    /// `local`: every change of the directory is made on this machine.
    pub(crate) fn connect_kernel(&self, device: Arc<dyn Kernel>, passthrough: bool, local: bool) {
        self.passthrough.store(passthrough, Relaxed);
        self.local.store(local, Relaxed);
        let _ = self.device.set(device);
        self.probe_path_passthrough();
    }

    /// Every change of the directory is made on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.local.load(Relaxed)
    }

    /// The kernel agreed to collect writes.
    pub(crate) fn collect_writes(&self) {
        self.collects.store(true, Relaxed);
    }

    pub(crate) fn collects_writes(&self) -> bool {
        self.collects.load(Relaxed)
    }

    /// Gives the watch that keeps long-lived names honest.
    pub(crate) fn set_watch(&self, watch: DirectoryWatch) {
        let _ = self.watch.set(watch);
    }

    pub(crate) fn device(&self) -> Option<&dyn Kernel> {
        self.device.get().map(|device| &**device)
    }

    /// Whether callers other than the daemon's user are served.
    /// Owners and access control lists can be shown as they are.
    pub(crate) fn knows_all_users(&self) -> bool {
        self.settings.shared || !self.settings.one_user
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.settings.shared
    }

    /// Makes this thread act as the caller for what follows.
    ///
    /// # Errors
    /// EPERM when it can't, and the request is to be refused.
    pub(crate) fn impersonate_caller(&self, caller: Caller) -> Result<()> {
        self.credentials.impersonate(caller, || (self.groups)(caller.pid))
    }

    /// Makes this thread the daemon itself: threads that it begins are as it is.
    pub(crate) fn revert_credentials(&self) {
        self.credentials.revert();
    }

    pub(crate) fn node(&self, id: u64) -> Result<Arc<Node>> {
        self.table.get(id).ok_or(Errno::STALE)
    }

    /// A descriptor (`O_PATH`) of a directory; reopened by name when it was let go.
    pub(crate) fn dir_fd(&self, id: u64) -> Result<Arc<OwnedFd>> {
        let node = self.node(id)?;
        self.dir_fd_of(&node)
    }

    pub(crate) fn dir_fd_of(&self, node: &Arc<Node>) -> Result<Arc<OwnedFd>> {
        if let Some(pin) = &node.place.lock().pin {
            return Ok(Arc::clone(pin));
        }
        if !node.is_dir() {
            return Err(Errno::NOTDIR);
        }
        let (parent, name) = node.newest_name().ok_or(Errno::STALE)?;
        let up = self.dir_fd(parent)?;
        let fd = Arc::new(self.open_verified_path(up.as_fd(), &name, node)?);
        self.table.pin_directory(node, Arc::clone(&fd));
        Ok(fd)
    }

    /// Opens `name` without following it and makes sure that it is still `node`.
    fn open_verified_path(&self, dir: BorrowedFd<'_>, name: &CStr, node: &Node) -> Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = self.with_free_descriptors(|| openat(dir, name, flags, Mode::empty()))?;
        if FileIdentity::from_statx(&statx_nofollow(fd.as_fd(), c"")?) != node.identity() {
            return Err(Errno::STALE);
        }
        Ok(fd)
    }

    /// Any descriptor of the node itself: its pin, an open handle, or a fresh one.
    pub(crate) fn node_descriptor(&self, node: &Arc<Node>) -> Result<NodeDescriptor> {
        if let Some(pin) = &node.place.lock().pin {
            return Ok(NodeDescriptor::Pin(Arc::clone(pin)));
        }
        if node.is_dir() {
            return self.dir_fd_of(node).map(NodeDescriptor::Pin);
        }
        if let Some(handle) = node.open.lock().handles.last() {
            return Ok(NodeDescriptor::Open(Arc::clone(handle)));
        }
        let held = match node.placed.get() {
            Some(placed) => self.data_file_descriptor(&placed),
            None => self.open_descriptor_by_name(node),
        };
        match held {
            Err(Errno::STALE | Errno::NOENT) => self.pinned_descriptor(node),
            other => other,
        }
    }

    fn open_descriptor_by_name(&self, node: &Arc<Node>) -> Result<NodeDescriptor> {
        let (parent, name) = node.newest_name().ok_or(Errno::STALE)?;
        let dir = self.dir_fd(parent)?;
        self.open_verified_path(dir.as_fd(), &name, node).map(NodeDescriptor::Fresh)
    }

    /// What holds a file whose name has gone to another since it was looked for: the request that
    /// took the name has left a pin, if nobody had the file open.
    ///
    /// # Errors
    /// ESTALE: the kernel looks for the name again.
    fn pinned_descriptor(&self, node: &Node) -> Result<NodeDescriptor> {
        if let Some(pin) = node.place.lock().pin.clone() {
            return Ok(NodeDescriptor::Pin(pin));
        }
        node.open.lock().handles.last().cloned().map(NodeDescriptor::Open).ok_or(Errno::STALE)
    }

    /// Attributes of a node, from the backing file system, now.
    pub(crate) fn stat_node(&self, node: &Arc<Node>) -> Result<Statx> {
        if let Some(packed) = node.packed.get() {
            return self.stat_packed_file(packed);
        }
        let pin = node.place.lock().pin.clone();
        if let Some(fd) = pin {
            return match node.is_dir() {
                true => self.stat_dir(node, fd.as_fd()),
                false => Ok(self.exposed_stat(node, statx_nofollow(fd.as_fd(), c"")?)),
            };
        }
        let handle = node.open.lock().handles.last().cloned();
        if let Some(handle) = handle {
            return Ok(self.exposed_stat(node, statx_nofollow(handle.file.as_fd(), c"")?));
        }
        let found = match node.placed.get() {
            Some(placed) => self.stat_tiered_file(node, &placed),
            None => self.stat_by_name(node),
        };
        match found {
            // Moved or replaced from outside: the kernel asks again by name.
            Err(Errno::STALE | Errno::NOENT) => {
                let held = self.pinned_descriptor(node)?;
                Ok(self.exposed_stat(node, statx_nofollow(held.as_fd(), c"")?))
            }
            other => other,
        }
    }

    fn stat_by_name(&self, node: &Arc<Node>) -> Result<Statx> {
        let (parent, name) = node.newest_name().ok_or(Errno::STALE)?;
        let dir = self.dir_fd(parent)?;
        match statx_nofollow(dir.as_fd(), &name)? {
            stat if FileIdentity::from_statx(&stat) == node.identity() => {
                Ok(self.exposed_stat(node, stat))
            }
            _ => Err(Errno::STALE),
        }
    }

    /// Runs an opening; when descriptors run out, lets kept ones go and tries again.
    pub(crate) fn with_free_descriptors<T>(
        &self,
        mut open: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        match open() {
            Err(Errno::MFILE | Errno::NFILE) => {
                self.drop_cached_descriptors();
                let again = open();
                if matches!(again, Err(Errno::MFILE)) {
                    forebay_os::descriptors::report_open_file_limit();
                }
                again
            }
            other => other,
        }
    }

    /// Lets go of descriptors that can be had again: of directories, and of files without a name that
    /// somebody has open, whose handles hold them as well.
    fn drop_cached_descriptors(&self) {
        self.table.drop_oldest_pins();
        for handle in self.handles.lock().values() {
            if let Some(mut place) = handle.node.place.try_lock()
                && place.names.is_empty()
                && !handle.node.is_dir()
            {
                place.pin = None;
            }
        }
    }

    /// The path below the covered directory by which the record knows a node.
    pub(crate) fn known_to_recorder(
        &self,
        node: &Arc<Node>,
        know: impl FnOnce(&[u8], Option<RecordedFile>) -> RecordedPath,
    ) -> Arc<RecordedPath> {
        let epoch = self.renames.load(Relaxed);
        let mut kept = node.known.lock();
        let old = match &*kept {
            RecordState::As(at, known) if *at == epoch => return Arc::clone(known),
            RecordState::As(_, known) => {
                known.file().map(|file| RecordedFile { file, moved: true })
            }
            RecordState::Once(at, file) => Some(RecordedFile { file: *file, moved: *at != epoch }),
            RecordState::Not => None,
        };
        let known = Arc::new(know(&self.path_of(node), old));
        *kept = RecordState::As(epoch, Arc::clone(&known));
        known
    }

    /// Path below the covered directory, empty for the directory itself.
    pub(crate) fn path_of(&self, node: &Node) -> Vec<u8> {
        let mut parts: Vec<CString> = Vec::new();
        let mut next = node.newest_name();
        // A cycle can't arise from true names; the bound guards against names that moved meanwhile.
        while let (Some((parent, name)), true) = (next.take(), parts.len() < 4096) {
            parts.push(name);
            if parent != ROOT {
                next = self.table.get(parent).and_then(|p| p.newest_name());
            }
        }
        let mut path = Vec::with_capacity(parts.iter().map(|p| p.count_bytes() + 1).sum());
        for part in parts.iter().rev() {
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(part.to_bytes());
        }
        path
    }

    /// Path of a name in a directory, below the covered one.
    pub(crate) fn child_path(&self, dir: &Node, name: &CStr) -> Vec<u8> {
        let mut path = self.path_of(dir);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
        path
    }

    /// Makes the kernel ask again for everything below a directory, within the current request.
    pub(crate) fn invalidate_directory(&self, node: &Node) {
        let (Some(device), Some((parent, name))) = (self.device.get(), node.newest_name()) else {
            return;
        };
        use std::os::unix::ffi::OsStrExt;
        // Never two threads at once: the kernel's directory lock may be held by a caller that
        // waits for an answer, and one of us must be left to give it.
        if let Some(_only) = self.expelling.try_lock() {
            device.invalidate_entry(parent, std::ffi::OsStr::from_bytes(name.to_bytes()));
        }
    }

    /// Whether any program has a file or directory open.
    pub(crate) fn has_open_handles(&self) -> bool {
        !self.handles.lock().is_empty() || !self.dirs.lock().is_empty()
    }

    /// Shows every open handle.
    pub(crate) fn for_each_handle(&self, show: impl FnMut(&Arc<FileHandle>)) {
        let handles: Vec<_> = self.handles.lock().values().cloned().collect();
        handles.iter().for_each(show);
    }

    /// Size in bytes of an open file that this machine has written.
    pub(crate) fn written_file_size(&self, handle: &FileHandle) -> Option<u64> {
        // A packed file is looked at when its bytes are in the log: `packed_file_size`.
        if handle.node.packed.get().is_some() {
            return None;
        }
        statx_as_cached(handle.file.as_fd()).ok().map(|stat| stat.stx_size)
    }

    /// The first bytes of an open file, whatever it was opened for.
    pub(crate) fn read_head(&self, handle: &FileHandle, most: usize) -> Vec<u8> {
        use std::io::Read;
        let mut content = Vec::new();
        self.credentials.revert();
        if let Ok(file) = reopen_with_flags(handle.file.as_fd(), OFlags::RDONLY | OFlags::NONBLOCK)
        {
            let _ = std::fs::File::from(file).take(most as u64).read_to_end(&mut content);
        }
        content
    }

    /// Ends byte-range locks of processes that are gone.
    pub(crate) fn drop_dead_owner_locks(&self) {
        self.posix_locks.drop_dead_owner_locks();
    }

    fn allocate_handle(&self) -> u64 {
        self.next_handle.fetch_add(1, Relaxed)
    }

    pub(crate) fn handle(&self, fh: u64) -> Result<Arc<FileHandle>> {
        self.handles.lock().get(&fh).cloned().ok_or(Errno::BADF)
    }

    pub(crate) fn dir_handle(&self, fh: u64) -> Result<Arc<DirHandle>> {
        self.dirs.lock().get(&fh).cloned().ok_or(Errno::BADF)
    }
}

/// A descriptor of a node, borrowed from wherever it was at hand.
pub(crate) enum NodeDescriptor {
    Pin(Arc<OwnedFd>),
    Open(Arc<FileHandle>),
    Fresh(OwnedFd),
}

impl NodeDescriptor {
    /// The file itself, open, and not the way to it alone.
    pub(crate) fn open_file(&self) -> Option<BorrowedFd<'_>> {
        match self {
            NodeDescriptor::Open(handle) if handle.kind == HandleFile::Open => {
                Some(handle.file.as_fd())
            }
            _ => None,
        }
    }
}

impl AsFd for NodeDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            NodeDescriptor::Pin(fd) => fd.as_fd(),
            NodeDescriptor::Open(handle) => handle.file.as_fd(),
            NodeDescriptor::Fresh(fd) => fd.as_fd(),
        }
    }
}
