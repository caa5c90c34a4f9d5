//! The threads that serve one mount: so many from the start, and more where all of these wait for
//! something that takes long, such as a bucket that does not answer.
//!
//! Those of the device have one crew. With io_uring each CPU has a queue, and a crew that is bound to
//! that CPU, of which one thread serves as long as nothing makes it wait.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, Scope};
use std::time::Duration;

use rustix::io::Errno;
use zerocopy::FromBytes;

use super::abi::{InHeader, op};
use super::device::Device;
use super::queue_entry::{QueueEntry, bind_to_cpu};
use super::reply_path::ReplyPath;
use super::session::{BUFFER, MOST_BYTES, Session};
use crate::native::{Native, PendingLock};

/// For so long a thread of the device lets the kernel gather what it forgets. Signals for programs that
/// wait for locks come as late at most.
const FORGETS_TOGETHER: Duration = Duration::from_millis(2);

/// Threads that take requests from the same place, and how many there are.
#[derive(Debug)]
struct Crew {
    /// The queue of this CPU; `None`: the device.
    queue: Option<u16>,
    all: AtomicUsize,
    /// Those that wait for a request.
    idle: AtomicUsize,
    /// Those that wait for a lock of somebody's, for as long as that takes.
    locked: AtomicUsize,
    most: usize,
}

impl Crew {
    fn new(queue: Option<u16>, threads: usize, most: usize) -> Crew {
        let [idle, locked] = Default::default();
        Crew { queue, all: AtomicUsize::new(threads), idle, locked, most }
    }

    fn thread_name(&self, number: usize) -> String {
        match self.queue {
            None => format!("forebay-{number}"),
            Some(queue) => format!("forebay-c{queue}-{number}"),
        }
    }
}

/// Where a thread takes requests from.
enum RequestSource {
    Device { device: Device, buffer: Vec<u8>, size: usize },
    Queue(Box<QueueEntry>),
}

impl RequestSource {
    fn reading(device: Device) -> RequestSource {
        RequestSource::Device { device, buffer: vec![0; BUFFER], size: 0 }
    }

    /// Waits for a request; in a queue, this gives the last answer. False: the mount is gone.
    fn next_request(&mut self) -> io::Result<bool> {
        match self {
            RequestSource::Queue(entry) => entry.next_request(),
            RequestSource::Device { device, buffer, size } => {
                let received = device.receive_request(buffer)?;
                *size = received.unwrap_or_default();
                Ok(received.is_some())
            }
        }
    }

    /// What has come, and where its answer goes.
    fn request(&self) -> io::Result<(&InHeader, &[u8], ReplyPath<'_>)> {
        match self {
            RequestSource::Queue(entry) => {
                let (header, body) = entry.request();
                Ok((header, body, ReplyPath::Entry(entry)))
            }
            RequestSource::Device { device, buffer, size } => {
                let (header, body) = InHeader::ref_from_prefix(&buffer[..*size])
                    .map_err(|_| io::Error::other("the kernel's request is cut off"))?;
                Ok((header, body, ReplyPath::Device(device)))
            }
        }
    }
}

impl Session {
    /// Serves until the mount is gone, on `threads` threads, and on up to `most` where all wait;
    /// returns when all have ended. Through io_uring these are on each CPU one, and up to `most`.
    ///
    /// # Errors
    /// When the device fails otherwise than by the end of the mount.
    pub fn serve_requests(self: &Arc<Session>, threads: usize, most: usize) -> io::Result<()> {
        let entries = std::mem::take(&mut *self.entries.lock());
        let crew = Crew::new(None, threads, most);
        let queues: Vec<Crew> =
            (0..entries.len()).map(|queue| Crew::new(Some(queue as u16), 1, most)).collect();
        let (crew, queues) = (&crew, &queues);
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for number in 0..threads {
                // A queue of its own for each thread; where /dev/fuse can't be opened, one shared.
                let device = match number {
                    0 => self.device.clone(),
                    _ => self.device.another_reader().unwrap_or_else(|_| self.device.clone()),
                };
                let work = move || self.run_worker(RequestSource::reading(device), crew, scope);
                workers
                    .push(Builder::new().name(crew.thread_name(number)).spawn_scoped(scope, work)?);
            }
            for (entry, crew) in entries.into_iter().zip(queues) {
                let work =
                    move || self.run_worker(RequestSource::Queue(Box::new(entry)), crew, scope);
                workers.push(Builder::new().name(crew.thread_name(0)).spawn_scoped(scope, work)?);
            }
            for worker in workers {
                worker.join().map_err(|_| io::Error::other("a worker thread panicked"))??;
            }
            Ok(())
        })
    }

    fn run_worker<'scope>(
        self: &'scope Arc<Session>,
        mut source: RequestSource,
        crew: &'scope Crew,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<()> {
        crew.queue.into_iter().for_each(bind_to_cpu);
        let mut scratch = Vec::with_capacity(MOST_BYTES);
        let mut served_any = false;
        loop {
            crew.idle.fetch_add(1, Relaxed);
            let received = source.next_request();
            let was_last = crew.idle.fetch_sub(1, Relaxed) == 1;
            match received {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                // The kernel refuses queues as a whole, and goes on with the device.
                Err(error) if crew.queue.is_some() && !served_any => {
                    crew.all.fetch_sub(1, Relaxed);
                    tracing::info!("no place in the queue of a CPU: {error}");
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            if crew.queue.is_some() && !served_any {
                self.has_queues.store(true, Relaxed);
            }
            served_any = true;
            let (header, body, reply) = source.request()?;
            if header.opcode == op::NOTIFY_REPLY {
                reply.send_reply(header.unique, &[]);
                continue;
            }
            let rests = self.may_rest_after(header, crew);
            if was_last && !rests {
                self.add_worker(header.nodeid, crew, scope);
            }
            if header.opcode == op::DESTROY {
                reply.send_reply(header.unique, &[]);
                match reply {
                    ReplyPath::Device(_) => return Ok(()),
                    ReplyPath::Entry(_) => continue,
                }
            }
            // A fault of ours must cost one request, not leave its caller waiting for ever.
            let served = catch_unwind(AssertUnwindSafe(|| {
                let waits = self.dispatch_request(header, body, reply, &mut scratch);
                waits.into_iter().for_each(|lock| {
                    self.wait_for_lock(header, reply, lock, crew, scope);
                });
            }));
            if served.is_err() {
                reply.send_error(header.unique, Errno::IO);
            }
            if rests {
                std::thread::sleep(FORGETS_TOGETHER);
            }
        }
    }

    /// Whether this request may be followed by a rest: where queues serve, all that comes through the
    /// device and is frequent is what the kernel has forgotten. It tells of many at once to who comes
    /// for it seldom, and each time wakes a thread, mostly on another CPU.
    fn may_rest_after(&self, header: &InHeader, crew: &Crew) -> bool {
        let forgets = matches!(header.opcode, op::FORGET | op::BATCH_FORGET);
        forgets && crew.queue.is_none() && self.has_queues.load(Relaxed)
    }

    /// Waits for a lock in a thread of a queue, in whose place another one serves if it must.
    fn wait_for_lock<'scope>(
        self: &'scope Arc<Session>,
        header: &InHeader,
        reply: ReplyPath<'_>,
        lock: PendingLock,
        crew: &'scope Crew,
        scope: &'scope Scope<'scope, '_>,
    ) {
        crew.locked.fetch_add(1, Relaxed);
        if crew.idle.load(Relaxed) == 0 {
            self.add_worker(header.nodeid, crew, scope);
        }
        let unique = header.unique;
        let done = self.waiters.wait_for_thread(unique, header.pid, &self.device, lock);
        crew.locked.fetch_sub(1, Relaxed);
        match done {
            Ok(()) => reply.send_reply(unique, &[]),
            Err(error) => reply.send_error(unique, error),
        }
    }

    /// Nobody waits for the next request, after one about a node: another thread does from now on.
    fn add_worker<'scope>(
        self: &'scope Arc<Session>,
        node: u64,
        crew: &'scope Crew,
        scope: &'scope Scope<'scope, '_>,
    ) {
        let most = crew.most + crew.locked.load(Relaxed);
        let next = |all| (all < most).then_some(all + 1);
        let Ok(number) = crew.all.fetch_update(Relaxed, Relaxed, next) else { return };
        // Without it, requests are served as before.
        let give_up = || {
            crew.all.fetch_sub(1, Relaxed);
        };
        let entry = crew.queue.map(|queue| {
            QueueEntry::new_for_waiting(&self.device, queue, known_file(self.native(), node))
        });
        let source = match entry {
            None => RequestSource::reading(self.device.clone()),
            Some(Ok(entry)) => RequestSource::Queue(Box::new(entry)),
            Some(Err(_)) => return give_up(),
        };
        self.native().revert_credentials();
        let work = move || {
            if let Err(error) = self.run_worker(source, crew, scope) {
                tracing::error!("a thread of a mount ended badly: {error}");
            }
        };
        if Builder::new().name(crew.thread_name(number)).spawn_scoped(scope, work).is_err() {
            give_up();
        }
    }
}

/// The number of a node that is a file, if possible this one.
fn known_file(native: &Native, node: u64) -> u64 {
    if native.node(node).is_ok_and(|node| !node.is_dir()) {
        return node;
    }
    let mut file = node;
    native.for_each_handle(|handle| file = handle.node.id);
    file
}
