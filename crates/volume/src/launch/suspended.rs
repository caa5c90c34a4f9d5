//! A front that is stopped as its command is. Who is stopped sees nothing, so a process of its own
//! looks meanwhile, and wakes the front when the command goes on or has ended.

use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process, set_parent_process_death_signal};

use super::fork;
use super::signals::{reap_child, take_pending_signal};

/// Between two looks at a command that is stopped, for days perhaps.
const LOOK: Duration = Duration::from_millis(50);

/// Stops this process as its command has stopped, until somebody continues one of the two. True if
/// somebody continued this one, and so means the command.
pub(super) fn stop_with_command(command: Pid) -> bool {
    // They did before we came to look.
    if take_pending_signal(Signal::CONT).is_some() {
        return true;
    }
    let me = getpid();
    // SAFETY: this process has one thread, so the child may do anything.
    let waker = match unsafe { fork() } {
        Ok(None) => wake_on_continue(me, command),
        Ok(Some(waker)) => waker,
        // Rather not stopped than for ever.
        Err(_) => return false,
    };
    // It can't be held back; this goes on when we do.
    let _ = kill_process(me, Signal::STOP);
    let _ = kill_process(waker, Signal::KILL);
    reap_child(waker);
    take_pending_signal(Signal::CONT).is_some_and(|from| from != waker.as_raw_nonzero().get())
}

/// The waker's life: until the front ends it, or is gone.
fn wake_on_continue(front: Pid, command: Pid) -> ! {
    // Without, it ends a moment later, by itself.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // Whoever stops the job stops it all; who stops the front alone does not mean this one.
    while rustix::process::getppid() == Some(front) {
        if is_stopped(front) && !is_stopped(command) {
            // It is gone, then.
            let _ = kill_process(front, Signal::CONT);
        }
        std::thread::sleep(LOOK);
    }
    // SAFETY: ends the process without running what belongs to the parent.
    unsafe { libc::_exit(0) }
}

/// Whether a process is stopped by a signal, as /proc tells (proc_pid_stat(5)).
fn is_stopped(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    // Its name, in brackets, may hold anything.
    let state = stat.as_deref().ok().and_then(|stat| stat.rsplit_once(") ")).map(|(_, rest)| rest);
    state.is_some_and(|state| state.starts_with('T'))
}
