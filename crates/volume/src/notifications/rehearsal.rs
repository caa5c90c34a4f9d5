//! Whether the recorder works here: a process is watched by another that is no relative of it, as in
//! a run. Both are children of their own, for a filter that is in force may kill them.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use forebay_os::forks::{fork, socket_pair};
use rustix::event::Timespec;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::filter::{InstallError, install_trial};
use super::listener::{Listener, Waited};
use super::targets::Target;
use crate::overmount::{receive_descriptor, send_descriptor};

/// Why this recorder can't be used here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifyUnavailable {
    /// An old kernel, or one without seccomp.
    #[error("this kernel does not know it (Linux 5.5 and later do, with CONFIG_SECCOMP_FILTER)")]
    NotKnown,
    /// Another program has a listener, and the kernel allows one.
    #[error(
        "a program above has seccomp notifications for itself, and the kernel allows one such \
         program (another `forebay run --recorder notify`, a container runtime)"
    )]
    Taken,
    /// A sandbox does not let it happen.
    #[error("a seccomp filter that is in force here kills who tries it")]
    Killed,
    /// Yama, or a sandbox.
    #[error(
        "a process may not read the memory of another one of the same user \
         (/proc/sys/kernel/yama/ptrace_scope is above 0, or a sandbox forbids process_vm_readv)"
    )]
    Unreadable,
    /// What the system said.
    #[error("the system refuses it: {0}")]
    Refused(String),
}

/// What the trial says of itself: a step, and the system's error.
const STEP_INSTALL: u8 = 1;
const STEP_TAKEN: u8 = 2;
const STEP_READ: u8 = 3;
const STEP_DONE: u8 = 4;

const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
const TEXT: &[u8] = b"forebay\0";

/// Whether it works here.
///
/// # Errors
/// Why it does not.
pub fn probe() -> Result<(), NotifyUnavailable> {
    let refused = |error: io::Error| NotifyUnavailable::Refused(error.to_string());
    let (ours, theirs) = socket_pair().map_err(refused)?;
    // SAFETY: the child calls functions that allocate, which both C libraries allow after fork.
    let trial = match unsafe { fork() }.map_err(refused)? {
        None => {
            drop(ours);
            run_trial(&theirs)
        }
        Some(trial) => trial,
    };
    drop(theirs);
    let mut word = [0; 5];
    let told = std::fs::File::from(ours).read_exact(&mut word);
    let status = wait_for(trial);
    match (told, word[0]) {
        (Err(_), _) if status.is_some_and(|status| status.signal().is_some()) => {
            Err(NotifyUnavailable::Killed)
        }
        (Err(error), _) => Err(refused(error)),
        (Ok(()), STEP_DONE) => Ok(()),
        (Ok(()), STEP_TAKEN) => Err(NotifyUnavailable::Taken),
        (Ok(()), STEP_READ) => Err(NotifyUnavailable::Unreadable),
        (Ok(()), _) => {
            let code = i32::from_le_bytes([word[1], word[2], word[3], word[4]]);
            match code {
                libc::ENOSYS | libc::EINVAL => Err(NotifyUnavailable::NotKnown),
                code => Err(refused(io::Error::from_raw_os_error(code))),
            }
        }
    }
}

fn wait_for(process: Pid) -> Option<ExitStatus> {
    loop {
        match waitpid(Some(process), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Some(ExitStatus::from_raw(status.as_raw())),
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}

fn leave(code: i32) -> ! {
    // SAFETY: ends the process without running what belongs to the parent.
    unsafe { libc::_exit(code) }
}

/// Starts the two, and ends as they did.
fn run_trial(word: &OwnedFd) -> ! {
    let Ok((reader_end, caller_end)) = socket_pair() else { leave(1) };
    // SAFETY: a process with one thread, as forks are.
    let caller = match unsafe { fork() } {
        Ok(Some(caller)) => caller,
        Ok(None) => {
            drop(reader_end);
            be_watched(word, caller_end)
        }
        Err(_) => leave(1),
    };
    drop(caller_end);
    // SAFETY: as above.
    let reader = match unsafe { fork() } {
        Ok(Some(reader)) => reader,
        Ok(None) => watch(word, &reader_end),
        Err(_) => leave(1),
    };
    drop(reader_end);
    let ended = wait_for(reader);
    // It may have ended by itself.
    let _ = kill_process(caller, Signal::KILL);
    let other = wait_for(caller);
    // SIGSYS is what a filter kills with.
    let killed =
        [ended, other].into_iter().flatten().any(|status| status.signal() == Some(libc::SIGSYS));
    if killed {
        // SAFETY: plain numbers; it does not come back, unless the signal is held back.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    leave(0)
}

fn tell(word: &OwnedFd, step: u8, error: i32) {
    let code = error.to_le_bytes();
    let message = [step, code[0], code[1], code[2], code[3]];
    // Who hears nothing knows that it failed.
    let _ = rustix::io::write(word, &message);
}

fn be_watched(word: &OwnedFd, reader: OwnedFd) -> ! {
    match install_trial(libc::SYS_getppid) {
        Ok(listener) => {
            let me = rustix::process::getpid().as_raw_nonzero().get() as u32;
            if send_descriptor(reader.as_fd(), me, Some(listener.as_fd())).is_err() {
                leave(1);
            }
            drop((listener, reader));
            // SAFETY: an address that lives; the call ignores it.
            // What it says is of no interest: that it comes back is.
            unsafe { libc::syscall(libc::SYS_getppid, TEXT.as_ptr()) };
        }
        Err(InstallError::Taken) => tell(word, STEP_TAKEN, libc::EBUSY),
        Err(InstallError::Refused(error)) => {
            tell(word, STEP_INSTALL, error.raw_os_error().unwrap_or(libc::EIO));
        }
    }
    leave(0)
}

fn watch(word: &OwnedFd, caller: &OwnedFd) -> ! {
    let Ok((Some(process), Some(listener))) = receive_descriptor(caller.as_fd()) else { leave(0) };
    let listener = Listener::new(listener);
    let Waited::Call(call) = listener.wait(&PATIENCE) else { leave(1) };
    let target = Target(call.thread);
    let text = target.read_path(call.args[0]);
    let sees = call.thread == process && text.as_deref() == TEXT.strip_suffix(b"\0");
    // Whatever it says of descriptors: it is tried, for a filter may kill who asks.
    target.shares_descriptors_with(process);
    let reads = sees && !target.descriptors().is_empty();
    let goes_on = listener.let_continue(call.id);
    match (reads, goes_on) {
        (true, true) => tell(word, STEP_DONE, 0),
        (false, _) => tell(word, STEP_READ, 0),
        (true, false) => tell(word, STEP_INSTALL, libc::EINVAL),
    }
    leave(0)
}

#[cfg(test)]
mod tests {
    //! If these fail, `doctor` says of the recorder what is not so.
    use super::*;

    #[test]
    fn the_trial_works_or_says_why_not_and_leaves_this_process_as_it_was() {
        let before = rustix::thread::no_new_privs().expect("asked");
        let first = probe();
        assert_eq!(probe(), first);
        assert_eq!(rustix::thread::no_new_privs().expect("asked"), before);
        assert_eq!(first, Ok(()), "on a machine of ours it works");
    }

    #[test]
    fn a_word_has_room_for_each_error() {
        let (mine, theirs) = socket_pair().expect("a pair");
        tell(&theirs, STEP_INSTALL, libc::EOPNOTSUPP);
        let mut word = [0; 5];
        std::fs::File::from(mine).read_exact(&mut word).expect("told");
        assert_eq!(word, [STEP_INSTALL, 95, 0, 0, 0]);
    }
}
