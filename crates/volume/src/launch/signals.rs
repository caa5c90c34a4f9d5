//! Signals, which the front holds back and takes one by one, and ends of processes.

use std::mem::MaybeUninit;

use rustix::process::{Pid, Signal};

use forebay_os::forks::SavedSignalMask;

/// Signals that are still held back when a run has ended. A scheduler that cancels a job signals its
/// processes one by one, so that one for the front may come a moment after the command's end: it must
/// not take the front's last work away.
#[derive(Debug)]
pub struct HeldSignals(pub(super) SavedSignalMask);

impl HeldSignals {
    /// Forgets those that have come, which were meant for the command, and lets others through.
    pub fn discard_and_unblock(&self) {
        // SAFETY: a zeroed set and time are valid; the calls fill or read them.
        unsafe {
            let mut all = MaybeUninit::zeroed();
            libc::sigfillset(all.as_mut_ptr());
            let at_once: libc::timespec = std::mem::zeroed();
            while libc::sigtimedwait(all.as_ptr(), std::ptr::null_mut(), &at_once) > 0 {}
        }
        self.0.restore_for_command();
    }
}

pub(super) fn wait_for_signal() -> libc::siginfo_t {
    // SAFETY: a zeroed siginfo and a full set are valid; the call fills the former.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        loop {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            if libc::sigwaitinfo(&all, &mut info) > 0 {
                return info;
            }
        }
    }
}

/// Takes a signal that is held back, if there is one; tells who sent it.
pub(super) fn take_pending_signal(signal: Signal) -> Option<i32> {
    // SAFETY: zeroed sets, times and infos are valid; the calls fill or read them. What a process
    // sent has its number.
    unsafe {
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut only, signal.as_raw());
        let (mut info, at_once) = (std::mem::zeroed::<libc::siginfo_t>(), std::mem::zeroed());
        (libc::sigtimedwait(&only, &mut info, &at_once) > 0).then(|| info.si_pid())
    }
}

pub(super) fn reap_child(pid: Pid) {
    while let Err(rustix::io::Errno::INTR) =
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty())
    {}
}

/// Ends this process by a signal, as the command was; returns only if it can't.
pub(super) fn die_by_signal(signal: Signal) {
    // SAFETY: plain numbers and a zeroed set. No core of ours: the command left its own.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal.as_raw(), libc::SIG_DFL);
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&mut only, signal.as_raw());
        libc::kill(libc::getpid(), signal.as_raw());
        libc::sigprocmask(libc::SIG_UNBLOCK, &only, std::ptr::null_mut());
    }
}
