//! One mount's conversation: the handshake, and what is known and counted of a request.

use std::cell::Cell;
use std::ffi::CStr;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_model::{AccessPattern, ClassId, Op, OpCount, OpKey, ProcessId, TreeId};
use parking_lot::{Mutex, RwLock};
use rustix::io::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::abi::{self, InHeader, init, op};
use super::device::Device;
use super::emulated_latency::StorageDemand;
use super::queue_entry::{self, QueueEntry};
use super::reply_path::ReplyPath;
use super::transport::Transport;
use super::waiters::LockWaiters;
use crate::native::DirectoryWatch;
use crate::native::{FileHandle, Native, Node, OpenReply, PendingLock, Result};
use crate::processes::ProcessTable;
use crate::recorder::Recorder;
use forebay_os::clock::Clock;
use forebay_os::fast_wake::FastWake;

pub(super) use super::abi::{BUFFER, MOST_BYTES};

/// One covered tree and what serves it.
#[derive(Debug)]
pub struct ServedTree {
    /// Its number in the record.
    pub id: TreeId,
    /// The directory itself.
    pub native: Arc<Native>,
    /// How deep passthrough may stack: 2 over overlay file systems, else 1.
    pub stack_depth: u32,
    /// Ask the kernel for passthrough.
    pub passthrough: bool,
    /// Every change of the backing directory is made on this machine.
    pub local: bool,
    /// Others than this user and root are refused.
    pub only_for: Option<u32>,
    /// Hears of each request; `None`: CPUs sleep as they do.
    pub fast_wake: Option<Arc<FastWake>>,
    /// The way on which requests are wanted.
    pub transport: Transport,
}

/// A served mount.
#[derive(Debug)]
pub struct Session {
    pub(super) tree: ServedTree,
    pub(super) device: Device,
    pub(super) recorder: Arc<Recorder>,
    pub(super) processes: Arc<ProcessTable>,
    pub(super) waiters: LockWaiters,
    /// Held to read while a request is served; true when no more are.
    pub(super) gate: RwLock<bool>,
    /// Places in the queues of CPUs, until threads wait there; none: all comes through the device.
    pub(super) entries: Mutex<Vec<QueueEntry>>,
    /// Requests have come through queues: what comes through the device has time.
    pub(super) has_queues: AtomicBool,
}

/// Where a request was counted.
type RequestCountKey = (Option<ProcessId>, TreeId, ClassId, OpKey);

/// One request and its context, as far as all kinds have it in common. It travels as an argument:
/// what is known of a request is nowhere else.
pub(super) struct Request<'a> {
    pub(super) header: &'a InHeader,
    pub(super) body: &'a [u8],
    /// The way it came, which must carry its answer.
    pub(super) reply: ReplyPath<'a>,
    pub(super) process: Option<ProcessId>,
    pub(super) clock: &'a dyn Clock,
    pub(super) began: u64,
    /// How long it took, once that is settled.
    pub(super) took: Cell<Option<u64>>,
    /// How it was refused, if so.
    pub(super) refused: Cell<Option<Errno>>,
    /// What it asks an emulated storage for, until it is answered.
    pub(super) asked: Cell<Option<StorageDemand>>,
    /// Nanoseconds for which its reply is held back: the program waits so much longer than a thread
    /// works for it.
    pub(super) held_back: Cell<u64>,
    /// It may be counted before its reply is given or afterwards; both are known once it is served.
    pub(super) counted: Cell<Option<RequestCountKey>>,
    /// The lock that its thread is to wait for before it is answered.
    pub(super) waits: Cell<Option<PendingLock>>,
}

impl<'a> Request<'a> {
    /// The fixed part of the body, and what follows it.
    pub(super) fn parse_body<T: FromBytes + KnownLayout + Immutable>(
        &self,
    ) -> Result<(&'a T, &'a [u8])> {
        T::ref_from_prefix(self.body).map_err(|_| Errno::INVAL)
    }

    pub(super) fn node_id(&self) -> u64 {
        self.header.nodeid
    }

    /// Nanoseconds until it was answered, or counted if that came first. The answer wakes the
    /// caller, which may take this thread's CPU: what comes after it nobody waits for.
    pub(super) fn elapsed_nanos(&self) -> u64 {
        let now = || self.clock.elapsed_nanos().saturating_sub(self.began);
        let nanos = self.took.get().unwrap_or_else(now);
        self.took.set(Some(nanos));
        nanos
    }

    pub(super) fn send_reply(&self, parts: &[&[u8]]) {
        self.elapsed_nanos();
        self.send_message(0, parts);
    }

    pub(super) fn send_error(&self, error: Errno) {
        self.refused.set(Some(error));
        self.elapsed_nanos();
        self.send_message(-error.raw_os_error(), &[]);
    }

    fn send_message(&self, error: i32, parts: &[&[u8]]) {
        let (asked, unique) = (self.asked.take(), self.header.unique);
        self.held_back.set(self.reply.send_delayed_reply(asked, error, unique, parts));
    }

    pub(super) fn reply_result(&self, result: Result<()>) {
        match result {
            Ok(()) => self.send_reply(&[]),
            Err(error) => self.send_error(error),
        }
    }
}

/// A name at the start of `bytes`, and what follows it.
pub(super) fn parse_name(bytes: &[u8]) -> Result<(&CStr, &[u8])> {
    let name = CStr::from_bytes_until_nul(bytes).map_err(|_| Errno::INVAL)?;
    Ok((name, &bytes[name.to_bytes_with_nul().len()..]))
}

/// Places in the queues of all CPUs, where requests are to come through io_uring; else none.
fn queue_entries(tree: &ServedTree, device: &Device) -> Vec<QueueEntry> {
    // What takes milliseconds gains nothing, and needs more threads than each CPU should have.
    let (usual, most) = tree.native.backend().thread_counts(1);
    if tree.transport == Transport::Device || device.is_emulating() || (usual, most) != (1, 1) {
        return Vec::new();
    }
    queue_entry::one_for_each_queue(device).unwrap_or_else(|error| {
        tracing::info!("requests come through /dev/fuse: no io_uring for them: {error}");
        Vec::new()
    })
}

impl Session {
    pub(crate) fn native(&self) -> &Arc<Native> {
        &self.tree.native
    }

    /// Shakes hands with the kernel over a `/dev/fuse` descriptor that is already mounted.
    ///
    /// # Errors
    /// When the kernel speaks a protocol older than 7.31 (Linux 5.4), or the mount is gone.
    pub fn from_handshake(
        tree: ServedTree,
        device: Device,
        recorder: Arc<Recorder>,
        processes: Arc<ProcessTable>,
    ) -> io::Result<Arc<Session>> {
        let mut buffer = vec![0; BUFFER];
        let size = device
            .receive_request(&mut buffer)?
            .ok_or_else(|| io::Error::other("the mount was gone before it began"))?;
        let (header, body) = InHeader::ref_from_prefix(&buffer[..size])
            .map_err(|_| io::Error::other("the kernel's first request is cut off"))?;
        // Kernels before 5.12 send a shorter INIT; zero means "does not know".
        let mut hello = abi::InitIn::default();
        let known = body.len().min(size_of::<abi::InitIn>());
        hello.as_mut_bytes()[..known].copy_from_slice(&body[..known]);
        if header.opcode != op::INIT || hello.major != 7 || hello.minor < abi::OLDEST_MINOR {
            device.send_error(header.unique, Errno::PROTO);
            let (major, minor) = (hello.major, hello.minor);
            return Err(io::Error::other(format!("the kernel speaks FUSE {major}.{minor}")));
        }
        let offered = u64::from(hello.flags) | (u64::from(hello.flags2) << 32);
        // Not ATOMIC_O_TRUNC: it would truncate a program that is running before the kernel can
        // refuse (ETXTBSY), and before we know that the name still leads to the same file.
        let mut wanted = init::ASYNC_READ
            | init::POSIX_LOCKS
            | init::FLOCK_LOCKS
            | init::BIG_WRITES
            | init::DONT_MASK
            | init::HAS_IOCTL_DIR
            | init::AUTO_INVAL_DATA
            | init::DO_READDIRPLUS
            | init::READDIRPLUS_AUTO
            | init::ASYNC_DIO
            | init::PARALLEL_DIROPS
            | init::MAX_PAGES
            // A link's target is its own for life; another target is another inode.
            | init::CACHE_SYMLINKS
            | init::HANDLE_KILLPRIV_V2
            | init::INIT_EXT
            | init::DIRECT_IO_ALLOW_MMAP;
        if tree.native.knows_all_users() {
            wanted |= init::POSIX_ACL;
        }
        if tree.passthrough && !device.is_emulating() {
            wanted |= init::PASSTHROUGH;
        }
        if device.collects_writes() {
            wanted |= init::WRITEBACK_CACHE;
        }
        let mut agreed = wanted & offered;
        // The kernel lets programs wait until all queues have a place: only who has them agrees.
        let entries = match offered & init::OVER_IO_URING {
            0 => Vec::new(),
            _ => queue_entries(&tree, &device),
        };
        if !entries.is_empty() {
            agreed |= init::OVER_IO_URING;
        }
        let passthrough = agreed & init::PASSTHROUGH != 0;
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
            max_stack_depth: if passthrough { tree.stack_depth } else { 0 },
            ..Default::default()
        };
        device.send_reply(header.unique, &[answer.as_bytes()]);
        // It is no wish: who can do it says so.
        let device = device.with_expiry(offered & init::HAS_EXPIRE_ONLY != 0).with_notifiers();
        tree.native.connect_kernel(Arc::new(device.clone()), passthrough, tree.local);
        if agreed & init::WRITEBACK_CACHE != 0 {
            tree.native.collect_writes();
        }
        match DirectoryWatch::start(&tree.native, tree.local) {
            Ok(watch) => tree.native.set_watch(watch),
            Err(error) => tracing::warn!("what others change is not watched: {error}"),
        }
        tree.native.start_migrator();
        crate::native::start_eager_write_back(&tree.native);
        let ((waiters, gate, has_queues), entries) = (Default::default(), Mutex::new(entries));
        Ok(Arc::new(Session {
            tree,
            device,
            recorder,
            processes,
            waiters,
            gate,
            entries,
            has_queues,
        }))
    }

    /// Counts an answered request.
    pub(super) fn count_request(
        &self,
        request: &Request<'_>,
        kind: Op,
        class: ClassId,
        failed: bool,
    ) {
        let tree = self.tree.id;
        self.record_count(
            request,
            request.process,
            tree,
            OpKey::without_bytes(kind),
            class,
            0,
            failed,
        );
    }

    /// Counts an answered request about a file, where its bytes are.
    pub(super) fn count_file_request(
        &self,
        request: &Request<'_>,
        kind: Op,
        node: &Arc<Node>,
        opened: &OpenReply,
    ) {
        let tree = opened.tier.or_else(|| self.tier_tree(node)).unwrap_or(self.tree.id);
        let class = self.class_of_node(node);
        self.record_count(
            request,
            request.process,
            tree,
            OpKey::without_bytes(kind),
            class,
            0,
            false,
        );
    }

    /// Counts an answered request about an open file; its opener answers for a caller unknown.
    pub(super) fn count_handle_request(
        &self,
        request: &Request<'_>,
        kind: Op,
        handle: &FileHandle,
        failed: bool,
    ) {
        let key = OpKey::without_bytes(kind);
        let process = request.process.or(handle.record.get().map(|record| record.process));
        let tree = self.read_source_tree(handle);
        self.record_count(request, process, tree, key, self.class_of_node(&handle.node), 0, failed);
    }

    /// Counts an answered request that moved bytes.
    pub(super) fn count_data_request(
        &self,
        request: &Request<'_>,
        kind: Op,
        handle: &FileHandle,
        bytes: u64,
        pattern: AccessPattern,
    ) {
        let key = OpKey::with_bytes(kind, bytes, pattern);
        let process = request.process.or(handle.record.get().map(|record| record.process));
        let tree = self.read_source_tree(handle);
        self.record_count(
            request,
            process,
            tree,
            key,
            self.class_of_node(&handle.node),
            bytes,
            false,
        );
    }

    #[allow(clippy::too_many_arguments)]
    fn record_count(
        &self,
        request: &Request<'_>,
        process: Option<ProcessId>,
        tree: TreeId,
        key: OpKey,
        class: ClassId,
        bytes: u64,
        failed: bool,
    ) {
        let nanos = request.elapsed_nanos();
        let count = OpCount { count: 1, nanos, bytes, failed: u64::from(failed) };
        self.recorder.count_operation(process, tree, class, key, count);
        request.counted.set(Some((process, tree, class, key)));
    }

    /// The class of a node's path.
    pub(super) fn class_of_node(&self, node: &Arc<Node>) -> ClassId {
        self.known_to_recorder(node).class
    }

    pub(super) fn known_to_recorder(&self, node: &Arc<Node>) -> Arc<crate::recorder::RecordedPath> {
        let (tree, home) = (self.tree.id, self.tier_tree(node));
        self.tree
            .native
            .known_to_recorder(node, |path, old| self.recorder.describe_path(tree, home, path, old))
    }

    /// The number of the tree whose storage an open file is read from.
    fn read_source_tree(&self, handle: &FileHandle) -> TreeId {
        let copy = handle.copy.as_ref().filter(|copy| !copy.is_recalled()).map(|copy| copy.tree);
        copy.or_else(|| self.tier_tree(&handle.node)).unwrap_or(self.tree.id)
    }

    /// The number of the tier that has a file's bytes, when a rule sent them there.
    fn tier_tree(&self, node: &Node) -> Option<TreeId> {
        let tiers = self.tree.native.tiers()?;
        let room = match (node.placed.get(), node.packed.get()) {
            (Some(placed), _) => tiers.tier_directory(&placed),
            (None, packed) => packed.and_then(|_| tiers.pack_tier_directory())?,
        };
        Some(room.tree)
    }

    /// The class of a node by number; that of the tree's root when it is gone.
    pub(super) fn class_of_id(&self, id: u64) -> ClassId {
        match self.tree.native.node(id) {
            Ok(node) => self.class_of_node(&node),
            Err(_) => self.recorder.class_of_path(b""),
        }
    }

    /// The class of a name in a directory, whether or not it exists.
    pub(super) fn class_of_name(&self, dir: u64, name: &CStr) -> ClassId {
        let Ok(dir) = self.tree.native.node(dir) else {
            return self.recorder.class_of_path(name.to_bytes());
        };
        let mut path = self.known_to_recorder(&dir).path.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
        self.recorder.class_of_path(&path)
    }

    /// Ends the records of files whose last close was not told: the mount went first.
    pub fn close_records(&self) {
        self.tree.native.stop_migrator();
        // As with a close that is told: looked at before the bytes of packed files go elsewhere.
        let mut open = Vec::new();
        self.tree.native.for_each_handle(|handle| {
            open.push((Arc::clone(handle), self.inspect_before_close(handle)))
        });
        self.tree.native.commit_all_content();
        for (handle, left) in open {
            self.record_close(&handle, left);
        }
    }
}
