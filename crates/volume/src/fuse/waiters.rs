//! Threads that wait for locks. A wait may last for hours, so it must not hold a worker; a signal to
//! the waiting program (INTERRUPT) ends it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
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
}

/// Threads that wait for locks, by request number.
#[derive(Debug, Default)]
pub(super) struct LockWaiters(Arc<Mutex<Waiting>>);

impl LockWaiters {
    /// The program behind a request got a signal. Only lock waits can be cut short; other requests
    /// answer soon by themselves.
    pub(super) fn interrupt(&self, body: &[u8]) {
        let Ok((ask, _)) = abi::InterruptIn::ref_from_prefix(body) else { return };
        let mut all = self.0.lock();
        let Some(waiter) = all.sleeping.get(&ask.unique).cloned() else {
            all.early.push_back(ask.unique);
            if all.early.len() > 1024 {
                all.early.pop_front();
            }
            return;
        };
        drop(all);
        waiter.interrupted.store(true, Relaxed);
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
        let spawned = std::thread::Builder::new()
            .name("forebay-lock".into())
            .stack_size(64 << 10)
            .spawn(move || {
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
