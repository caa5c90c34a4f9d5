//! A place in one CPU's queue of requests: FUSE over io_uring (Linux 6.14). The kernel writes a
//! request into memory of ours and takes the answer from there; one system call brings the answer of
//! the last request and waits for the next, and nobody on another CPU is woken for it.
//!
//! It knows the framing and nothing of its subject, as [`Device`] does. Source:
//! `include/uapi/linux/fuse.h` and `fs/fuse/dev_uring.c` of Linux 6.18.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use forebay_os::command_ring::{
    COMMAND_DATA, CommandRing, CommandWait, DeviceCommand, SharedMemory,
};
use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

use super::abi::{InHeader, MOST_BYTES, OutHeader, ring};
use super::device::Device;

/// Bytes before the payload: the headers, and room to join the fixed part of a request to the rest.
const FRONT: usize = 16 << 10;
/// Where the two parts of memory begin and end, for the kernel.
type Segments = [libc::iovec; 2];

/// How far a place has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryState {
    /// The kernel knows nothing of it.
    New,
    /// The same, and requests may wait already; the number of a node that may be a file.
    NewForWaiting(u64),
    /// It waits in the kernel's queue, or has a request of it.
    Registered,
}

/// Such requests until now, which differ in their numbers.
static ASKED_FOR: AtomicU64 = AtomicU64::new(0);
/// Far from those of other requests.
const FIRST_ASKED_FOR: u64 = 1 << 62;

/// A place in a queue, used by one thread.
#[derive(Debug)]
pub(super) struct QueueEntry {
    ring: CommandRing,
    /// Its connection.
    device: Device,
    queue: u16,
    memory: SharedMemory,
    payload_size: usize,
    state: EntryState,
    /// Of the request that has come.
    header: InHeader,
    commit_id: u64,
    /// Bytes of its fixed part, and of what it has beyond.
    fixed: usize,
    payload: usize,
    error: Cell<i32>,
    answer_size: Cell<usize>,
    /// The answer, where the request's own bytes are still read.
    kept: RefCell<Vec<u8>>,
}

impl QueueEntry {
    /// One that can be put into queue `queue` by the thread that then waits there.
    ///
    /// # Errors
    /// Those of [`CommandRing::new`], ENOMEM.
    pub(super) fn new(device: &Device, queue: u16) -> io::Result<QueueEntry> {
        // `fuse_uring_create`: as long as the longest request has pages.
        let page = rustix::param::page_size();
        let payload_size = MOST_BYTES.max(MOST_BYTES / 4096 * page);
        Ok(QueueEntry {
            ring: CommandRing::new()?,
            device: device.clone(),
            queue,
            memory: SharedMemory::new(FRONT + payload_size)?,
            payload_size,
            state: EntryState::New,
            header: InHeader::default(),
            commit_id: 0,
            fixed: 0,
            payload: 0,
            error: Cell::new(0),
            answer_size: Cell::new(0),
            kept: RefCell::default(),
        })
    }

    /// The same, for a queue in which requests may wait already. The kernel gives those to a place
    /// that has answered, not to a new one: so it is made to send one that can be answered.
    ///
    /// # Errors
    /// Those of [`QueueEntry::new`].
    pub(super) fn new_for_waiting(
        device: &Device,
        queue: u16,
        node: u64,
    ) -> io::Result<QueueEntry> {
        let entry = QueueEntry::new(device, queue)?;
        Ok(QueueEntry { state: EntryState::NewForWaiting(node), ..entry })
    }

    /// Gives the kernel the last answer, if there was a request, and waits for a request. False: the
    /// mount is gone.
    ///
    /// # Errors
    /// The kernel's: before the first request it is one that refuses the place, and requests go
    /// other ways.
    pub(super) fn next_request(&mut self) -> io::Result<bool> {
        let came = match self.state {
            EntryState::Registered => self.commit_and_fetch(),
            EntryState::New => self.register(None),
            EntryState::NewForWaiting(node) => self.register(Some(node)),
        };
        let gone = [libc::ENOTCONN, libc::ECONNABORTED, libc::ENODEV, libc::ECANCELED];
        match came {
            Ok(_) => {
                self.state = EntryState::Registered;
                self.begin_request();
                Ok(true)
            }
            Err(error) if gone.iter().any(|code| error.raw_os_error() == Some(*code)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn register(&mut self, node: Option<u64>) -> io::Result<i32> {
        self.ring.claim()?;
        let at = |offset: usize, size: usize| libc::iovec {
            iov_base: self.memory.at(offset).cast(),
            iov_len: size,
        };
        let segments: Segments =
            [at(0, size_of::<ring::RequestHeader>()), at(FRONT, self.payload_size)];
        let waits = node.map_or(CommandWait::ForEnd, |_| CommandWait::No);
        let sent = self.send(ring::REGISTER, 0, Some(&segments), waits)?;
        let node = match (sent, node) {
            (Some(result), _) => return Ok(result),
            (None, None) => return self.ring.wait(),
            (None, Some(node)) => node,
        };
        let number = FIRST_ASKED_FOR + 2 * ASKED_FOR.fetch_add(1, Relaxed);
        if let Err(error) = self.device.ask_for_request(number, node) {
            tracing::debug!("a queue's new thread waits for its first request: {error}");
        }
        self.ring.wait()
    }

    fn commit_and_fetch(&mut self) -> io::Result<i32> {
        let kept = std::mem::take(self.kept.get_mut());
        self.put_payload(0, &kept);
        *self.kept.get_mut() = kept;
        let (error, size) = (self.error.get(), self.answer_size.get());
        let len = (size_of::<OutHeader>() + size) as u32;
        let answer = OutHeader { len, error, unique: self.header.unique };
        let told = std::mem::offset_of!(ring::RequestHeader, entry.payload_size);
        // SAFETY: both lie in the header, aligned, and nobody has a reference to them: `self` is ours
        // alone.
        unsafe {
            self.memory.at(0).cast::<OutHeader>().write(answer);
            self.memory.at(told).cast::<u32>().write(size as u32);
        }
        let sent = self.send(ring::COMMIT_AND_FETCH, self.commit_id, None, CommandWait::ForEnd)?;
        sent.map_or_else(|| self.ring.wait(), Ok)
    }

    fn send(
        &mut self,
        operation: u32,
        commit_id: u64,
        at: Option<&Segments>,
        waits: CommandWait,
    ) -> io::Result<Option<i32>> {
        let ask = ring::Command { commit_id, queue: self.queue, ..ring::Command::default() };
        let mut data = [0; COMMAND_DATA];
        data[..size_of::<ring::Command>()].copy_from_slice(ask.as_bytes());
        let address = at.map_or(0, |segments| segments.as_ptr().addr() as u64);
        let length = at.map_or(0, |segments| segments.len() as u32);
        let command = DeviceCommand { operation, address, length, data };
        // SAFETY: the memory is this entry's own, and `self` is borrowed for us alone until the end is
        // waited for: nobody has a reference into it while the kernel may write.
        unsafe { self.ring.send(self.device.as_fd(), &command, waits) }
    }

    /// A request has come, which is refused unless it is answered.
    fn begin_request(&mut self) {
        // SAFETY: it lies there, the kernel does not write now, and any bytes are one.
        let said = unsafe { self.memory.at(0).cast::<ring::RequestHeader>().read() };
        self.header =
            InHeader::read_from_prefix(&said.in_out).map(|(header, _)| header).unwrap_or_default();
        self.commit_id = said.entry.commit_id;
        self.payload = (said.entry.payload_size as usize).min(self.payload_size);
        let rest = (self.header.len as usize).saturating_sub(size_of::<InHeader>());
        self.fixed = rest.saturating_sub(self.payload).min(ring::FIXED_SIZE);
        self.error.set(-Errno::IO.raw_os_error());
        self.answer_size.set(0);
        self.kept.get_mut().clear();
        if self.payload > 0 {
            // Behind its fixed part comes the rest, as `/dev/fuse` has it.
            // SAFETY: the room before the payload is ours, and longer than the fixed part.
            unsafe {
                let room = self.memory.at(FRONT - self.fixed);
                std::ptr::copy_nonoverlapping(said.fixed.as_ptr(), room, self.fixed);
            }
        }
    }

    /// The request that has come, and what follows its header.
    pub(super) fn request(&self) -> (&InHeader, &[u8]) {
        let (start, size) = match self.payload {
            // Not before the payload, where its answer is written.
            0 => (std::mem::offset_of!(ring::RequestHeader, fixed), self.fixed),
            payload => (FRONT - self.fixed, self.fixed + payload),
        };
        // SAFETY: it is inside. It is written when the next request is waited for, for which `self`
        // must be borrowed alone, and by answers only if there is no payload, elsewhere.
        let body = unsafe { std::slice::from_raw_parts(self.memory.at(start), size) };
        (&self.header, body)
    }

    /// Answers the request, with an error or 0, and the parts joined. It goes with the next wait.
    pub(super) fn answer(&self, error: i32, parts: &[&[u8]]) {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        if size > self.payload_size {
            return self.error.set(-Errno::IO.raw_os_error());
        }
        self.error.set(error);
        self.answer_size.set(size);
        if self.payload > 0 {
            let mut kept = self.kept.borrow_mut();
            kept.clear();
            parts.iter().for_each(|part| kept.extend_from_slice(part));
            return;
        }
        let mut at = 0;
        for part in parts {
            self.put_payload(at, part);
            at += part.len();
        }
    }

    fn put_payload(&self, at: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            assert!(at + bytes.len() <= self.payload_size, "checked before");
            // SAFETY: it is inside, the bytes are elsewhere, and nobody has a reference to it: there
            // was no payload, or the request is not read any more.
            unsafe {
                let room = self.memory.at(FRONT + at);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), room, bytes.len());
            }
        }
    }
}

/// So many queues are served: one for each CPU that the machine may ever have. Each has threads and
/// memory.
const MOST_QUEUES: u16 = 64;

/// A place in each queue. The kernel uses the queues once all have one, and waits until then.
///
/// # Errors
/// Those of [`QueueEntry::new`]; `Unsupported` where CPUs are not numbered from 0, or too many.
pub(super) fn one_for_each_queue(device: &Device) -> io::Result<Vec<QueueEntry>> {
    let count = queues_here().ok_or(io::ErrorKind::Unsupported)?;
    // From the answer to INIT on programs wait for all places: what may fail fails before.
    CommandRing::probe()?;
    (0..count).map(|queue| QueueEntry::new(device, queue)).collect()
}

/// How many queues there are, if threads of this process may run on the CPUs of all.
fn queues_here() -> Option<u16> {
    let possible = std::fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
    let ours = rustix::thread::sched_getaffinity(None).ok()?;
    queue_count(&possible).filter(|count| (0..*count).all(|cpu| ours.is_set(usize::from(cpu))))
}

/// How many queues there are where the CPUs of this list are possible.
fn queue_count(possible: &str) -> Option<u16> {
    let last = match possible.trim() {
        "0" => 0,
        range => range.strip_prefix("0-")?.parse::<u16>().ok()?,
    };
    (last < MOST_QUEUES).then_some(last + 1)
}

/// Binds this thread to the CPU of a queue, so that requests are served where they are made.
pub(super) fn bind_to_cpu(queue: u16) {
    let mut only = rustix::thread::CpuSet::new();
    only.set(usize::from(queue));
    // It was among ours. If it has been taken away since, it asks for nothing, and all is served.
    let _ = rustix::thread::sched_setaffinity(None, &only);
}

/// Whether the kernel's FUSE may be asked through io_uring: who may not is not asked to try.
///
/// # Errors
/// Why not.
pub fn check_uring() -> Result<(), UringObstacle> {
    let switch = std::fs::read_to_string("/sys/module/fuse/parameters/enable_uring");
    match switch.as_deref().map(str::trim) {
        Err(_) => return Err(UringObstacle::Kernel),
        Ok("Y" | "1") => {}
        Ok(_) => return Err(UringObstacle::Switch),
    }
    CommandRing::probe().map_err(|error| UringObstacle::Ring(error.to_string()))?;
    queues_here().map(drop).ok_or(UringObstacle::Cpus)
}

/// Why requests can't come through io_uring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UringObstacle {
    /// It knows no such way.
    Kernel,
    /// Root has not allowed it.
    Switch,
    /// This process may not use io_uring, as the error says.
    Ring(String),
    /// Some are off or not for this process, too many are possible, or their numbers have gaps.
    Cpus,
}

#[cfg(test)]
#[allow(clippy::disallowed_macros)] // A test has a terminal.
mod tests {
    //! If these fail, a machine is left without a queue, and its mounts wait for ever.
    use super::*;

    /// Loudly: a machine without io_uring for commands.
    fn skip() {
        use std::io::Write;
        let line = b"\n!!! a test of io_uring DID NOT RUN: the kernel refuses it here\n";
        let _ = std::io::stderr().write_all(line);
    }

    #[test]
    fn each_possible_cpu_has_a_queue_or_none_has() {
        assert_eq!(queue_count("0\n"), Some(1));
        assert_eq!(queue_count("0-63\n"), Some(64));
        for other in ["", "0-64", "1-3", "0-1,4-5", "0-", "x"] {
            assert_eq!(queue_count(other), None, "{other}");
        }
    }

    fn entry() -> Option<QueueEntry> {
        let file = std::fs::File::open("/dev/null").expect("a file");
        QueueEntry::new(&Device::new(file.into()), 0).ok()
    }

    /// Lays a request into the memory, as the kernel does.
    fn lay(entry: &mut QueueEntry, fixed: &[u8], rest: &[u8]) {
        let mut header = ring::RequestHeader::default();
        let len = (size_of::<InHeader>() + fixed.len() + rest.len()) as u32;
        let head = InHeader { len, unique: 7, ..InHeader::default() };
        header.in_out[..size_of::<InHeader>()].copy_from_slice(head.as_bytes());
        header.fixed[..fixed.len()].copy_from_slice(fixed);
        header.entry.payload_size = rest.len() as u32;
        // SAFETY: the header lies there.
        unsafe { entry.memory.at(0).cast::<ring::RequestHeader>().write(header) };
        entry.put_payload(0, rest);
        entry.begin_request();
    }

    fn payload(entry: &QueueEntry, size: usize) -> Vec<u8> {
        // SAFETY: it is inside.
        unsafe { std::slice::from_raw_parts(entry.memory.at(FRONT), size) }.to_vec()
    }

    #[test]
    fn parts_of_a_request_are_joined_and_outlive_its_answer() {
        let Some(mut entry) = entry() else {
            return skip();
        };
        lay(&mut entry, &[1; 40], b"name\0");
        let (header, body) = entry.request();
        assert_eq!((header.unique, body.len()), (7, 45));
        entry.answer(0, &[b"a longer answer than the name", b" and more"]);
        assert_eq!((&body[..40], &body[40..]), (&[1; 40][..], &b"name\0"[..]));
        assert_eq!(entry.answer_size.get(), 38);

        lay(&mut entry, &[2; 40], b"");
        let (_, body) = entry.request();
        entry.answer(0, &[b"read ", b"here"]);
        assert_eq!((body, payload(&entry, 9)), (&[2; 40][..], b"read here".to_vec()));
    }

    #[test]
    fn what_nobody_answers_is_refused() {
        let Some(mut entry) = entry() else {
            return skip();
        };
        lay(&mut entry, &[], b"");
        assert_eq!((entry.error.get(), entry.answer_size.get()), (-libc::EIO, 0));
        entry.answer(0, &[b"fine"]);
        lay(&mut entry, &[], b"");
        assert_eq!((entry.error.get(), entry.answer_size.get()), (-libc::EIO, 0));
    }
}
