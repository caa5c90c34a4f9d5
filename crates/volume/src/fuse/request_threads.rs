//! The threads that serve one mount: so many from the start, and more where all of these wait for
//! something that takes long, such as a bucket that does not answer.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, Scope};

use rustix::io::Errno;
use zerocopy::FromBytes;

use super::abi::{InHeader, op};
use super::device::Device;
use super::session::{BUFFER, MOST_BYTES, Session};

/// How many there are.
#[derive(Debug)]
struct ThreadCounts {
    all: AtomicUsize,
    /// Those that wait for a request.
    idle: AtomicUsize,
    most: usize,
}

impl Session {
    /// Serves until the mount is gone, on `threads` threads, and on up to `most` where all wait;
    /// returns when all have ended.
    ///
    /// # Errors
    /// When the device fails otherwise than by the end of the mount.
    pub fn serve_requests(self: &Arc<Session>, threads: usize, most: usize) -> io::Result<()> {
        let crew = ThreadCounts { all: AtomicUsize::new(threads), idle: AtomicUsize::new(0), most };
        let crew = &crew;
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for number in 0..threads {
                // A queue of its own for each thread; where /dev/fuse can't be opened, one shared.
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
        self: &'scope Arc<Session>,
        device: &Device,
        crew: &'scope ThreadCounts,
        scope: &'scope Scope<'scope, '_>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER];
        let mut scratch = Vec::with_capacity(MOST_BYTES);
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
            // A fault of ours must cost one request, not leave its caller waiting for ever.
            let served = catch_unwind(AssertUnwindSafe(|| {
                self.dispatch_request(header, body, device, &mut scratch);
            }));
            if served.is_err() {
                device.send_error(header.unique, Errno::IO);
            }
        }
    }

    /// Nobody waits for the next request: another thread does from now on.
    fn add_worker<'scope>(
        self: &'scope Arc<Session>,
        crew: &'scope ThreadCounts,
        scope: &'scope Scope<'scope, '_>,
    ) {
        let next = |all| (all < crew.most).then_some(all + 1);
        let Ok(number) = crew.all.fetch_update(Relaxed, Relaxed, next) else { return };
        self.native().revert_credentials();
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
}
