//! Ctrl-C and SIGTERM: a flag that the loops look at, so that everything is cleaned up on the way
//! out and what was measured stays saved.

use crate::error::{Error, Kind, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_signal(_signal: libc::c_int) {
    ASKED.store(true, Ordering::Relaxed);
}

/// From now on INT, TERM and HUP set the flag. Waiting calls return early (no SA_RESTART).
pub fn catch_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic; the struct is plain data.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = note_signal as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

/// True after a signal.
pub fn is_interrupted() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// An error after a signal.
pub fn check_interrupt() -> Result<()> {
    if is_interrupted() {
        return Err(Error::new(Kind::Interrupted, "interrupted; finished runs are saved"));
    }
    Ok(())
}
