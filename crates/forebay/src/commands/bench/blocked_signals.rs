//! Signals of the bench itself: none ends it between a run and its result.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

/// Signals that are held back, to be taken one by one.
#[derive(Debug)]
pub(in crate::commands) struct BlockedSignals {
    set: libc::sigset_t,
    before: libc::sigset_t,
}

/// What ends a bench.
pub(in crate::commands) const ENDS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

impl BlockedSignals {
    /// From now on signals that would end this process, or tell of a child, wait to be asked for.
    pub(in crate::commands) fn block_signals() -> BlockedSignals {
        let (mut set, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first call fills the set, the last one the mask that was.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in ENDS.into_iter().chain([libc::SIGCHLD]) {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            BlockedSignals { set: set.assume_init(), before: before.assume_init() }
        }
    }

    /// A program gets the signals that this process would have got.
    pub(in crate::commands) fn spawn_unblocked(&self, command: &mut Command) -> io::Result<Child> {
        let before = self.before;
        let restore = move || {
            // SAFETY: a mask that came from the system.
            unsafe { libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
            Ok(())
        };
        // SAFETY: between fork and exec it calls `sigprocmask` alone, which may be called there.
        unsafe { command.pre_exec(restore) };
        command.spawn()
    }

    /// Waits for a signal, at most for so long.
    pub(in crate::commands) fn next_signal(&self, most: Duration) -> Option<i32> {
        let time = libc::timespec {
            tv_sec: most.as_secs().min(1 << 30) as _,
            tv_nsec: most.subsec_nanos().into(),
        };
        // SAFETY: a filled set and a time; no details are asked for.
        let signal = unsafe { libc::sigtimedwait(&self.set, std::ptr::null_mut(), &time) };
        (signal > 0).then_some(signal)
    }
}
