//! `/dev/fuse`: requests in, replies and notifications out, files lent for passthrough. It knows
//! the framing of the conversation and nothing of its subject.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use zerocopy::IntoBytes;

use super::abi::{self, InHeader};
use super::emulated_latency::{EmulatedStorage, ReplyDelayer, StorageDemand};
use super::notifier_threads::NotifierThreads;
use crate::native::{Backing, Kernel};

/// One connection to the kernel's FUSE driver; clones share it.
#[derive(Debug, Clone)]
pub struct Device {
    file: Arc<File>,
    /// Replies are held back, to emulate a slower storage.
    late: Option<Arc<ReplyDelayer>>,
    /// The kernel can ask for a name again without forgetting what it led to.
    expires: bool,
    tellers: Option<Arc<NotifierThreads>>,
}

impl Device {
    /// Wraps a `/dev/fuse` descriptor that a mount already uses.
    pub fn new(fd: OwnedFd) -> Device {
        Device { file: Arc::new(File::from(fd)), late: None, expires: false, tellers: None }
    }

    /// The same, with replies as late as those of a storage with these numbers.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn with_emulated_storage(fd: OwnedFd, emulated: &EmulatedStorage) -> io::Result<Device> {
        Ok(Device { late: Some(ReplyDelayer::start(emulated)?), ..Device::new(fd) })
    }

    /// The same, where the kernel can let a name expire.
    #[must_use]
    pub(crate) fn with_expiry(self, expires: bool) -> Device {
        Device { expires, ..self }
    }

    /// The same, with threads that wait for the kernel to forget.
    #[must_use]
    pub(super) fn with_notifiers(self) -> Device {
        let tellers = Some(Arc::new(NotifierThreads::start(|| self.another_reader())));
        Device { tellers, ..self }
    }

    /// A request begins. Gives what it asks an emulated storage for.
    pub(super) fn begin_request(&self, header: &InHeader, body: &[u8]) -> Option<StorageDemand> {
        self.late.as_ref()?.begin_request(header, body)
    }

    /// Whether it emulates another storage.
    pub(super) fn is_emulating(&self) -> bool {
        self.late.is_some()
    }

    /// The kernel is to collect writes.
    pub(super) fn collects_writes(&self) -> bool {
        self.late.as_ref().is_some_and(|late| late.collects)
    }

    /// How long the kernel may believe what it is told for so long here.
    pub(super) fn client_timeout(&self, here: Duration) -> Duration {
        self.late.as_ref().map_or(here, |late| late.client_timeout(here))
    }

    /// The kernel need not ask when a file is closed that has nothing to tell.
    pub(super) fn closes_quietly(&self) -> bool {
        self.late.as_ref().is_none_or(|late| !late.closes)
    }

    /// A second descriptor of the same connection, with a request queue of its own.
    ///
    /// # Errors
    /// The kernel's, when `/dev/fuse` can't be opened here; the caller then shares this one.
    pub(crate) fn another_reader(&self) -> io::Result<Device> {
        let fresh = File::options().read(true).write(true).open("/dev/fuse")?;
        let ours: u32 = self.file.as_raw_fd() as u32;
        // SAFETY: the ioctl reads one u32, which lives across the call.
        let done = unsafe { libc::ioctl(fresh.as_raw_fd(), abi::IOC_CLONE as _, &ours) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Device { file: Arc::new(fresh), ..self.clone() })
    }

    /// Waits for one whole request. `Ok(None)` when the mount is gone.
    pub(crate) fn receive_request(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match rustix::io::read(self.as_fd(), &mut *buffer) {
                Ok(size) => return Ok(Some(size)),
                // ENOENT: the caller gave up before we read its request.
                Err(Errno::INTR | Errno::NOENT | Errno::AGAIN) => {}
                Err(Errno::NODEV | Errno::CONNABORTED) => return Ok(None),
                Err(other) => return Err(other.into()),
            }
        }
    }

    /// Answers request `unique` with the parts joined. Failures mean that nobody waits any more
    /// (the caller was killed, the mount is gone), so they are dropped.
    pub(crate) fn send_reply(&self, unique: u64, parts: &[&[u8]]) {
        let _ = self.write_message(0, unique, parts);
    }

    /// Answers request `unique` with an error.
    pub(crate) fn send_error(&self, unique: u64, error: Errno) {
        let _ = self.write_message(-error.raw_os_error(), unique, &[]);
    }

    /// Answers request `unique`, with an error or 0, when an emulated storage would; gives the
    /// nanoseconds for which the reply is held back.
    pub(super) fn send_delayed_reply(
        &self,
        asked: Option<StorageDemand>,
        error: i32,
        unique: u64,
        parts: &[&[u8]],
    ) -> u64 {
        let mut held_back = None;
        // As in `send_reply`: nobody may wait any more.
        let _ = with_reply_header(error, unique, parts, |slices| {
            held_back = self
                .late
                .as_ref()
                .zip(asked)
                .and_then(|(late, asked)| late.delay_reply(&asked, &self.file, slices));
            match held_back {
                Some(_) => Ok(()),
                None => (&*self.file).write_vectored(slices).map(drop),
            }
        });
        held_back.unwrap_or(0)
    }

    fn write_message(&self, error: i32, unique: u64, parts: &[&[u8]]) -> io::Result<()> {
        with_reply_header(error, unique, parts, |slices| {
            (&*self.file).write_vectored(slices).map(drop)
        })
    }

    fn notify_entry(&self, parent: u64, name: &OsStr, flags: u32) {
        let head = abi::InvalEntryOut { parent, namelen: name.len() as u32, flags };
        self.notify_kernel(abi::NOTIFY_INVAL_ENTRY, &[head.as_bytes(), name.as_bytes(), &[0]]);
    }

    /// Tells the kernel something that it may have to wait for.
    fn notify_kernel(&self, code: i32, parts: &[&[u8]]) {
        if let Some(tellers) = &self.tellers {
            let body: usize = parts.iter().map(|part| part.len()).sum();
            let len = (size_of::<abi::OutHeader>() + body) as u32;
            let header = abi::OutHeader { len, error: code, unique: 0 };
            if tellers.notify_and_wait([&[header.as_bytes()], parts].concat().concat()) {
                return;
            }
        }
        let _ = self.write_message(code, 0, parts);
    }

    /// No name is believed any longer that was told until now, nor those of answers under way. It
    /// waits for nobody.
    pub(super) fn expire_all_names(&self) {
        let _ = self.write_message(abi::NOTIFY_INC_EPOCH, 0, &[]);
    }

    /// Has the kernel send a request that asks for nothing (NOTIFY_REPLY), into the queue of the CPU
    /// on which this thread is. `unique` is even, and no other such request has it; the node is a
    /// regular file that the kernel knows.
    ///
    /// # Errors
    /// The kernel's; EINVAL for what is no regular file, ENODEV when the mount is gone.
    pub(super) fn ask_for_request(&self, unique: u64, node: u64) -> io::Result<()> {
        let nothing =
            abi::NotifyRetrieveOut { notify_unique: unique, nodeid: node, ..Default::default() };
        self.write_message(abi::NOTIFY_RETRIEVE, 0, &[nothing.as_bytes()])
    }

    /// Duplicates the descriptor, for hand-over between processes.
    ///
    /// # Errors
    /// EMFILE.
    pub fn duplicate(&self) -> io::Result<OwnedFd> {
        self.file.as_fd().try_clone_to_owned()
    }
}

impl Kernel for Device {
    fn register_backing(&self, file: BorrowedFd<'_>) -> io::Result<Box<dyn Backing>> {
        let map = abi::BackingMap { fd: file.as_raw_fd(), flags: 0, padding: 0 };
        // SAFETY: the ioctl reads the struct, which lives across the call.
        let id = unsafe { libc::ioctl(self.file.as_raw_fd(), abi::IOC_BACKING_OPEN as _, &map) };
        if id < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Box::new(LentFile { device: self.clone(), id }))
    }

    fn invalidate_node(&self, ino: u64, data: bool) {
        let off = if data { 0 } else { -1 };
        let note = abi::InvalInodeOut { ino, off, len: 0 };
        match data {
            // Pages that are being read are waited for, attributes are not.
            true => self.notify_kernel(abi::NOTIFY_INVAL_INODE, &[note.as_bytes()]),
            false => drop(self.write_message(abi::NOTIFY_INVAL_INODE, 0, &[note.as_bytes()])),
        }
    }

    fn invalidate_entry(&self, parent: u64, name: &OsStr) {
        self.notify_entry(parent, name, 0);
    }

    fn expire_entry(&self, parent: u64, name: &OsStr) {
        if self.expires {
            self.notify_entry(parent, name, abi::EXPIRE_ONLY);
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A file that the kernel reads and writes without asking us.
#[derive(Debug)]
struct LentFile {
    device: Device,
    id: i32,
}

impl Backing for LentFile {
    fn id(&self) -> i32 {
        self.id
    }
}

impl Drop for LentFile {
    fn drop(&mut self) {
        let id = self.id as u32;
        // SAFETY: the ioctl reads one u32. A failure means the connection is gone with all it lent.
        unsafe { libc::ioctl(self.device.file.as_raw_fd(), abi::IOC_BACKING_CLOSE as _, &id) };
    }
}

/// Shows a reply or a notification with its header in front.
fn with_reply_header<T>(
    error: i32,
    unique: u64,
    parts: &[&[u8]],
    show: impl FnOnce(&[IoSlice<'_>]) -> T,
) -> T {
    let body: usize = parts.iter().map(|part| part.len()).sum();
    let size = size_of::<abi::OutHeader>();
    let header = abi::OutHeader { len: (size + body) as u32, error, unique };
    let mut slices = [IoSlice::new(&[]); 4];
    slices[0] = IoSlice::new(header.as_bytes());
    for (slot, part) in slices[1..].iter_mut().zip(parts) {
        *slot = IoSlice::new(part);
    }
    show(&slices[..=parts.len()])
}

/// Opens `/dev/fuse` for a new mount.
///
/// # Errors
/// ENOENT where the kernel lacks FUSE, EACCES where the node is closed to this user.
pub fn open_device() -> io::Result<OwnedFd> {
    let path = c"/dev/fuse";
    // SAFETY: a constant path; the returned descriptor is owned by nobody else.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` is a fresh, valid descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
