//! Signals by which somebody ends a command that goes on and on: held back, and waited for.

use std::time::Duration;

/// SIGINT, SIGTERM and SIGHUP.
pub(crate) struct InterruptSignals(libc::sigset_t);

impl InterruptSignals {
    /// Holds them back from now on, in this thread and those that it starts.
    pub(crate) fn block_signals() -> InterruptSignals {
        // SAFETY: a zeroed set is valid, and is written to before it is read.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
                libc::sigaddset(&mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            InterruptSignals(set)
        }
    }

    /// Waits so long; true when one came.
    pub(crate) fn wait_for_signal(&self, time: Duration) -> bool {
        let (tv_sec, tv_nsec) = (time.as_secs() as _, time.subsec_nanos().into());
        let limit = libc::timespec { tv_sec, tv_nsec };
        // SAFETY: set and limit live as long as the call.
        unsafe { libc::sigtimedwait(&self.0, std::ptr::null_mut(), &limit) > 0 }
    }
}
