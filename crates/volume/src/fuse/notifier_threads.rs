//! Threads that tell the kernel what to forget, each with a table of descriptors of its own.
//!
//! To forget a name the kernel waits for the lock of its directory, which a program may hold while it
//! waits for our answer, and nothing ends that wait, not even SIGKILL. If the daemon is killed then,
//! the thread stays, with it the descriptors of all threads, so the kernel never learns that nobody
//! will answer: the program can't be killed, and the volume stays taken (Linux `fs/fuse/dev.c`:
//! `fuse_dev_release` ends the requests that were read through a descriptor with its last holder). A
//! thread that holds one further descriptor of the connection and nothing else keeps nobody: the
//! others' are closed, the program gets its error and lets go of the lock, the thread ends, and with
//! it the connection.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, RawFd};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use parking_lot::Mutex;

/// How many tell at a time: who follows changes from outside, who compares pages, who moves files.
const TELLERS: usize = 3;
/// `CLOSE_RANGE_UNSHARE` (close_range(2)): first the thread gets a table of its own.
const UNSHARE: libc::c_uint = 2;

/// Those that have nothing to tell.
#[derive(Debug)]
pub(super) struct NotifierThreads(Mutex<Vec<NotifierThread>>);

#[derive(Debug)]
struct NotifierThread {
    notes: SyncSender<Vec<u8>>,
    told: Receiver<()>,
}

impl NotifierThreads {
    /// As many as can be had, each with a descriptor that it is given; where there are none, others
    /// tell for themselves.
    pub(super) fn start<D: AsFd>(another: impl Fn() -> io::Result<D>) -> NotifierThreads {
        let start = |_| another().and_then(NotifierThread::start);
        let all = (0..TELLERS).map(start).collect::<io::Result<Vec<NotifierThread>>>();
        NotifierThreads(Mutex::new(all.unwrap_or_else(|error| {
            tracing::debug!("what the kernel is to forget is told by whoever finds out: {error}");
            Vec::new()
        })))
    }

    /// Tells it, and waits until the kernel has done it. False: nobody was free.
    pub(super) fn notify_and_wait(&self, note: Vec<u8>) -> bool {
        let Some(teller) = self.0.lock().pop() else { return false };
        let told = teller.notes.send(note).is_ok() && teller.told.recv().is_ok();
        if told {
            self.0.lock().push(teller);
        }
        told
    }
}

impl NotifierThread {
    fn start(reader: impl AsFd) -> io::Result<NotifierThread> {
        let fd = reader.as_fd().as_raw_fd();
        let (notes, to_tell) = sync_channel::<Vec<u8>>(1);
        let (done, told) = sync_channel(1);
        Builder::new().name("forebay-tell".to_owned()).spawn(move || {
            let Ok(mut file) = isolate_descriptor(fd) else { return };
            // The first says that it is ready.
            while done.send(()).is_ok() {
                let Ok(note) = to_tell.recv() else { return };
                // The kernel knew nothing of it, or the mount is gone.
                let _ = file.write(&note);
            }
        })?;
        // This table's is closed only when the other table has its own.
        let is_ready = told.recv().is_ok();
        drop(reader);
        match is_ready {
            true => Ok(NotifierThread { notes, told }),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Gives this thread a table of descriptors of its own, with this one in it.
///
/// # Errors
/// ENOSYS before Linux 5.9; nothing was closed then.
fn isolate_descriptor(fd: RawFd) -> io::Result<File> {
    let close = |from: libc::c_uint, to: libc::c_uint, how: libc::c_uint| {
        // SAFETY: plain numbers. This thread opens nothing and uses no descriptor but `fd`, and the
        // first call takes it out of the table that others use.
        match unsafe { libc::syscall(libc::SYS_close_range, from, to, how) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let fd = libc::c_uint::try_from(fd).map_err(io::Error::other)?;
    close(fd + 1, libc::c_uint::MAX, UNSHARE)?;
    if fd > 0 {
        close(0, fd - 1, 0)?;
    }
    // SAFETY: it is open in this table, and nobody else in it knows of it.
    Ok(unsafe { File::from_raw_fd(fd as RawFd) })
}
