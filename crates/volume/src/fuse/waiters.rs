//! Threads that wait for locks. A wait may last for hours, so it must not hold a worker; a signal to
//! the waiting program (INTERRUPT) ends it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Builder;
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::io::Errno;
use zerocopy::FromBytes;

use super::abi;
use super::device::Device;
use crate::native::{PendingLock, Result};

/// The signal that ends a lock wait in one of our threads; it is never sent to a program.
const WAKE: i32 = libc::SIGUSR2;

/// A thread, as pthread_kill(3) takes it: a number in one C library, in another a pointer, which is
/// nobody's to look behind.
#[derive(Clone, Copy, Debug)]
struct Thread(libc::pthread_t);

// SAFETY: it is handed to pthread_kill(3), which takes it from any thread.
unsafe impl Send for Thread {}
// SAFETY: as above.
unsafe impl Sync for Thread {}

#[derive(Debug)]
struct Waiter {
    thread: Thread,
    /// Somebody wants the wait to end.
    interrupted: AtomicBool,
    /// It has ended, and so may the thread: no signal is sent any more.
    done: Mutex<bool>,
}

#[derive(Debug, Default)]
struct Waiting {
    sleeping: FxHashMap<u64, Arc<Waiter>>,
    /// Interrupted before the thread slept; request numbers are never used again, so old ones of
    /// other requests do no harm.
    early: VecDeque<u64>,
    /// Threads for which others wait, by request number: their signals are looked for.
    watched: FxHashMap<u64, u32>,
    /// A thread does so.
    is_watched: bool,
}

/// Between two looks for signals; who kills a program that waits for a lock waits so long at worst.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Threads that wait for locks, by request number.
#[derive(Debug, Default)]
pub(super) struct LockWaiters(Arc<Mutex<Waiting>>);

impl LockWaiters {
    /// The program behind a request got a signal. Only lock waits can be cut short; other requests
    /// answer soon by themselves.
    pub(super) fn interrupt(&self, body: &[u8]) {
        if let Ok((ask, _)) = abi::InterruptIn::ref_from_prefix(body) {
            self.end_wait(ask.unique);
        }
    }

    fn end_wait(&self, unique: u64) {
        let mut all = self.0.lock();
        let Some(waiter) = all.sleeping.get(&unique).cloned() else {
            all.early.push_back(unique);
            if all.early.len() > 1024 {
                all.early.pop_front();
            }
            return;
        };
        drop(all);
        if waiter.interrupted.swap(true, Relaxed) {
            return;
        }
        // Again and again: the signal is lost when it arrives just before the thread sleeps.
        std::thread::spawn(move || {
            loop {
                let done = waiter.done.lock();
                if *done {
                    return;
                }
                // SAFETY: the thread ends only after it has set `done`, for which it needs the lock.
                unsafe { libc::pthread_kill(waiter.thread.0, WAKE) };
                drop(done);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
    }

    /// Waits in this thread for thread `asks`, whose request came through io_uring.
    ///
    /// A signal that reaches it between the moment at which its request is given to a place in a queue
    /// and that at which the place is filled is not told by an INTERRUPT (Linux 6.18: of
    /// `fuse_uring_prepare_send` and `fuse_dev_do_read` only the latter looks). So it is looked for.
    ///
    /// # Errors
    /// Those of [`LockWaiters::wait_here`].
    pub(super) fn wait_for_thread(
        &self,
        unique: u64,
        asks: u32,
        device: &Device,
        lock: PendingLock,
    ) -> Result<()> {
        let first = {
            let mut all = self.0.lock();
            all.watched.insert(unique, asks);
            all.watched.len() == 1 && !std::mem::replace(&mut all.is_watched, true)
        };
        let waiters = LockWaiters(Arc::clone(&self.0));
        let watch = move || waiters.watch_signals();
        let name = "forebay-signal".to_owned();
        if first && Builder::new().name(name).stack_size(64 << 10).spawn(watch).is_err() {
            self.0.lock().is_watched = false;
        }
        let result = self.wait_here(unique, device, lock);
        self.0.lock().watched.remove(&unique);
        result
    }

    /// Looks for signals while anybody waits.
    fn watch_signals(&self) {
        loop {
            std::thread::sleep(BETWEEN_LOOKS);
            let watched: Vec<(u64, u32)> = {
                let mut all = self.0.lock();
                all.is_watched = !all.watched.is_empty();
                all.watched.iter().map(|(unique, asks)| (*unique, *asks)).collect()
            };
            if watched.is_empty() {
                return;
            }
            for (unique, asks) in watched {
                let status = std::fs::read_to_string(format!("/proc/{asks}/status"));
                // 0: it is nobody whom this process sees.
                if asks != 0 && status.map_or(true, |status| has_pending_signal(&status)) {
                    self.end_wait(unique);
                }
            }
        }
    }

    /// Waits in this thread, which may do something else afterwards.
    ///
    /// # Errors
    /// EINTR when the program behind the request got a signal, and those of
    /// [`PendingLock::wait_for_lock`].
    pub(super) fn wait_here(&self, unique: u64, device: &Device, lock: PendingLock) -> Result<()> {
        // The daemon holds all signals back; this thread must hear the one that wakes it.
        hear_wake_signal(true);
        // SAFETY: asks for this thread's own handle.
        let thread = Thread(unsafe { libc::pthread_self() });
        let waiter = Arc::new(Waiter {
            thread,
            interrupted: AtomicBool::new(false),
            done: Mutex::new(false),
        });
        let early = {
            let mut all = self.0.lock();
            all.sleeping.insert(unique, Arc::clone(&waiter));
            all.early.contains(&unique)
        };
        let is_interrupted = || early || waiter.interrupted.load(Relaxed);
        let result = match early {
            true => Err(Errno::INTR),
            false => lock.wait_for_lock(Some(device), &is_interrupted),
        };
        *waiter.done.lock() = true;
        self.0.lock().sleeping.remove(&unique);
        hear_wake_signal(false);
        result
    }

    pub(super) fn wait_in_thread(
        &self,
        unique: u64,
        device: Device,
        lock: PendingLock,
        act: impl FnOnce() -> Result<()> + Send + 'static,
    ) {
        let waiters = LockWaiters(Arc::clone(&self.0));
        let refuse_with = device.clone();
        let spawned =
            Builder::new().name("forebay-lock".into()).stack_size(64 << 10).spawn(move || {
                if let Err(error) = act() {
                    return device.send_error(unique, error);
                }
                match waiters.wait_here(unique, &device, lock) {
                    Ok(()) => device.send_reply(unique, &[]),
                    Err(error) => device.send_error(unique, error),
                }
            });
        if spawned.is_err() {
            refuse_with.send_error(unique, Errno::NOLCK);
        }
    }
}

/// Whether a signal waits for a thread that it does not hold back or ignore, by its
/// `/proc/PID/status`.
fn has_pending_signal(status: &str) -> bool {
    let set = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(value.trim(), 16).ok()
    };
    let pending = set("SigPnd:").unwrap_or(0) | set("ShdPnd:").unwrap_or(0);
    pending & !set("SigBlk:").unwrap_or(0) & !set("SigIgn:").unwrap_or(0) != 0
}

/// Whether this thread is woken by the signal, as if it had none to fear.
fn hear_wake_signal(hear: bool) {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        extern "C" fn wake(_: i32) {}
        // SAFETY: the handler does nothing; without SA_RESTART it makes fcntl return EINTR.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = wake as *const () as usize;
            libc::sigaction(WAKE, &action, std::ptr::null_mut());
        }
    });
    let how = if hear { libc::SIG_UNBLOCK } else { libc::SIG_BLOCK };
    // SAFETY: a zeroed set is a valid one.
    unsafe {
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut only, WAKE);
        libc::pthread_sigmask(how, &only, std::ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    //! If this fails, a program that waits for a lock can't be killed, or loses its lock to a signal
    //! that is not for it.
    use super::*;

    #[test]
    fn signals_that_are_held_back_or_ignored_end_no_wait() {
        let status = |own: u64, process: u64, blocked: u64, ignored: u64| {
            format!(
                "Name:\tx\nSigPnd:\t{own:016x}\nShdPnd:\t{process:016x}\n\
                 SigBlk:\t{blocked:016x}\nSigIgn:\t{ignored:016x}\n"
            )
        };
        assert!(!has_pending_signal(&status(0, 0, 0, 0)));
        assert!(has_pending_signal(&status(0x100, 0, 0, 0)));
        assert!(has_pending_signal(&status(0, 0x4000, 0x2, 0)));
        assert!(!has_pending_signal(&status(0, 0x4000, 0x4000, 0)));
        assert!(!has_pending_signal(&status(0x2, 0, 0, 0x2)));
        assert!(!has_pending_signal("State:\tR"));
    }
}
